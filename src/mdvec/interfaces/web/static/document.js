// The reading view: similar notes, the way back, and copying a place.
import { composing, fetchPart } from "./page.js";

const similar = document.getElementById("similar");
fetchPart(similar.dataset.url).then((html) => {
  similar.querySelector(".wait").outerHTML = html;
}).catch(() => similar.remove());

const copy = document.getElementById("copy");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(copy.dataset.text);
    copy.textContent = copy.dataset.done;
  });
}

// On a narrow screen the outline stands above the note, and would hide it.
const outline = document.querySelector(".outline details");
if (outline && matchMedia("(max-width: 59.99rem)").matches) outline.open = false;

// In this tab one goes back to the results as they were; elsewhere the link shows the same search.
const back = document.getElementById("back");
const goBack = () => {
  const { navigation } = window; // not in older browsers
  const before = navigation?.entries().slice(0, navigation.currentEntry.index) ?? [];
  const results = before.findLast((each) => new URL(each.url).pathname === "/");
  if (results) navigation.traverseTo(results.key);
  else location.assign(back ? back.href : "/");
};
back?.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  goBack();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || composing(event) || document.getElementById("help").open) return;
  if (event.target.closest("input")) event.target.blur();
  else goBack();
});

// The outline shows where one reads.
const entries = new Map([...document.querySelectorAll(".outline a")].map((each) => [each.hash.slice(1), each]));
const headings = [...entries.keys()].map((id) => document.getElementById(decodeURIComponent(id))).filter(Boolean);
const mark = () => {
  const line = innerHeight / 4;
  const current = headings.filter((each) => each.getBoundingClientRect().top < line).at(-1);
  for (const [id, each] of entries) {
    if (current && decodeURIComponent(id) === current.id) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
};
if (headings.length) {
  addEventListener("scroll", mark, { passive: true });
  mark();
}
