// What all pages share: keys, help and theme.

/** True while a key belongs to an input method: it commits or changes a conversion, and means nothing else. */
export const composing = (event) => event.isComposing || event.keyCode === 229;

const help = document.getElementById("help");
const field = document.getElementById("q");

const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (composing(event) || event.ctrlKey || event.metaKey || event.altKey) {
    if ((event.ctrlKey || event.metaKey) && event.key === "k" && field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
    return;
  }
  // The start page has the focus in the empty field, and says there that "?" shows the keys.
  const empty = event.target === field && !field.value;
  if ((typing(event.target) && !(empty && event.key === "?")) || help.open) return;
  if (event.key === "/" && field) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "?") {
    event.preventDefault();
    help.showModal();
  }
});

const helpButton = document.getElementById("help-button");
helpButton.hidden = false;
helpButton.addEventListener("click", () => help.showModal());

const themeButton = document.getElementById("theme");
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});

/** Fetch a part of a page; returns null when a newer request took its place. An error has the server's `detail`. */
export const fetchPart = async (url, signal) => {
  try {
    const response = await fetch(url, { signal, headers: { "X-Requested-With": "fetch" } });
    if (response.status === 401) location.reload(); // the session has ended: the server leads to the login
    else if (response.headers.get("Content-Type") !== "application/problem+json") return await response.text();
    throw Object.assign(new Error(response.statusText), await response.json());
  } catch (error) {
    if (error.name === "AbortError") return null;
    throw error;
  }
};
