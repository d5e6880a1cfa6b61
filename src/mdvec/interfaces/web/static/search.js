// Search as you type. Without this script the form works by itself.
import { composing, fetchPart } from "./page.js";

const PAUSE_MS = 80; // of typing, before a search is sent
const PATIENCE_MS = 250; // then words alone answer meanwhile

const form = document.getElementById("search");
const field = document.getElementById("q");
const results = document.getElementById("results");
const filters = document.getElementById("filters");
const announce = document.getElementById("announce");

let controller = new AbortController();
let timer = 0;
let shown = address(); // what the results on the page belong to

/** The address of the form as it is filled in; empty fields are left out. */
function address() {
  const parameters = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value.trim()) parameters.append(name, value.trim());
  const text = parameters.toString();
  return text ? `?${text}` : "";
}

function show(html) {
  results.innerHTML = html;
  document.body.classList.toggle("blank", !field.value.trim());
  announce.textContent = results.querySelector("[data-announce]")?.dataset.announce ?? "";
  watchMore();
}

/** Search for what the form says. A slow answer is preceded by one from words alone. */
async function search({ mode = "", push = false } = {}) {
  clearTimeout(timer);
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  const wanted = address();
  if (push && location.search !== wanted) history.pushState(null, "", wanted || "/");
  else history.replaceState(null, "", wanted || "/");
  document.title = field.value.trim() ? `${field.value.trim()} – mdvec` : "mdvec";
  const url = (how) => `/results${wanted}${how ? `${wanted ? "&" : "?"}mode=${how}` : ""}`;
  results.setAttribute("aria-busy", "true");
  let answered = false;
  const words = mode === "lexical" ? 0 : setTimeout(async () => {
    const html = await fetchPart(url("lexical"), signal).catch(() => null);
    if (html !== null && !answered) show(html);
  }, PATIENCE_MS);
  try {
    const html = await fetchPart(url(mode), signal);
    answered = true;
    if (html === null) return;
    show(html);
    shown = wanted;
    const hint = document.getElementById("enter-hint");
    if (hint) hint.hidden = mode !== "lexical";
  } catch (error) {
    results.innerHTML = "";
    const problem = document.createElement("p");
    problem.className = "notice problem";
    problem.textContent = error.detail ?? form.dataset.offline;
    results.append(problem);
  } finally {
    clearTimeout(words);
    if (!signal.aborted) results.removeAttribute("aria-busy");
  }
}

async function refreshFilters(query = address()) {
  const open = filters.querySelector("details")?.open;
  const focused = document.activeElement;
  const key = focused && filters.contains(focused) ? [focused.name, focused.value] : null;
  const html = await fetchPart(`/filters${query}`).catch(() => null);
  if (html === null) return;
  filters.innerHTML = html;
  filters.querySelector("details").open = open;
  if (key) [...filters.querySelectorAll("input")].find((each) => each.name === key[0] && each.value === key[1])?.focus();
}

// --- typing -------------------------------------------------------------------------------------------------

// Between compositionstart and compositionend nothing is sent: the text is not what the user means yet.
let converting = false;
field.addEventListener("compositionstart", () => {
  converting = true;
  clearTimeout(timer);
});
field.addEventListener("compositionend", () => {
  converting = false;
  schedule();
});
field.addEventListener("input", (event) => {
  if (!converting && !event.isComposing) schedule();
});

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (address() !== shown) search({ mode: form.dataset.typingMode === "lexical" ? "lexical" : "" });
  }, PAUSE_MS);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (converting) return;
  if (address() !== shown || form.dataset.typingMode === "lexical") await search({ push: true });
  else history.pushState(null, "", address() || "/");
  links()[0]?.focus();
});

filters.addEventListener("change", async () => {
  await Promise.all([search({ push: true }), refreshFilters()]);
});
filters.addEventListener("click", (event) => {
  if (event.target.id !== "reset") return;
  event.preventDefault();
  for (const each of filters.querySelectorAll("input")) each.checked = each.type === "radio" && !each.value;
  search({ push: true });
  refreshFilters();
});

// --- history ------------------------------------------------------------------------------------------------

// The server knows the filters of an address; the page may not list them all now.
addEventListener("popstate", async () => {
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  await refreshFilters(location.search);
  search();
});

// --- keys ---------------------------------------------------------------------------------------------------

const links = () => [...results.querySelectorAll(".hit a.title")];

document.addEventListener("keydown", (event) => {
  if (composing(event) || converting || document.getElementById("help").open) return;
  const inField = event.target === field;
  const list = links();
  const at = list.indexOf(document.activeElement);
  if (event.key === "ArrowDown" && (inField || at >= 0)) {
    event.preventDefault();
    (list[at + 1] ?? list[at])?.focus();
  } else if (event.key === "ArrowUp" && at >= 0) {
    event.preventDefault();
    (list[at - 1] ?? field).focus();
  } else if (event.key === "Escape" && at >= 0) {
    field.focus();
    field.select();
  } else if (event.key === "Escape" && inField && field.value) {
    event.preventDefault();
    field.value = "";
    search({ push: true });
  }
});

// As an address the link would be one more step for the back button.
document.getElementById("to-results").addEventListener("click", (event) => {
  event.preventDefault();
  (links()[0] ?? results).focus();
});

// Back from a note, the keys go on from the result that was opened.
results.addEventListener("click", (event) => {
  const opened = event.target.closest(".hit a.title")?.getAttribute("href");
  if (opened) history.replaceState({ opened }, "");
});
links().find((each) => each.getAttribute("href") === history.state?.opened)?.focus({ preventScroll: true });

// --- more on scrolling --------------------------------------------------------------------------------------

const observer = new IntersectionObserver((entries) => {
  if (entries.some((each) => each.isIntersecting)) loadMore();
}, { rootMargin: "400px" });

function watchMore() {
  observer.disconnect();
  const more = document.getElementById("more");
  if (more) observer.observe(more);
}

async function loadMore() {
  const more = document.getElementById("more");
  if (!more || more.dataset.loading) return;
  more.dataset.loading = "yes";
  const wanted = address();
  const url = `/results${wanted}${wanted ? "&" : "?"}shown=${more.dataset.shown}&offset=${more.dataset.offset}`;
  const html = await fetchPart(url, controller.signal).catch(() => null);
  if (html === null || wanted !== address()) return;
  more.closest("p").remove();
  results.insertAdjacentHTML("beforeend", html);
  watchMore();
}

// On a narrow screen the filters would hide the results.
if (matchMedia("(max-width: 55.99rem)").matches && !filters.querySelector(".dot")) filters.querySelector("details").open = false;
watchMore();
if (!field.value) field.focus();
