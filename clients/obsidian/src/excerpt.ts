// Excerpts: the lines of a passage that have most words of the query.

const MAX_CHARS = 220;
const CHARS_BEFORE = 30; // a match is shown with what leads to it
const JAPANESE = /[\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}ー]+/gu;
const HEADING = /^\s*#{1,6}\s/;
const WORD = /[\p{L}\p{N}]+/gu;
const LONG_WORD = 6; // from this length on, the end of a word may differ: retries, retry

/** Return the part of a passage to show, and its line, counted from 0. */
export function excerptOf(passage: string, query: string) {
  const terms = termsOf(query);
  const lines = passage.split("\n");
  const found = (line: string) => new Set((terms ? line.match(terms) : null)?.map((each) => each.toLowerCase()));
  // Long words tell more than short ones. A heading counts, though the text below it is shown.
  const scores = lines.map((line) => (plain(line) || HEADING.test(line) ? [...found(line)].join("").length : -1));
  const best = terms ? Math.max(...scores) : 0;
  const line = best > 0 ? scores.indexOf(best) : Math.max(0, lines.findIndex(plain));
  let text = lines.slice(line).map(plain).filter(Boolean).join(" ");
  const first = terms ? text.search(terms) : -1;
  if (first > MAX_CHARS / 2) text = `…${text.slice(first - CHARS_BEFORE)}`;
  if (text.length > MAX_CHARS) text = `${text.slice(0, MAX_CHARS)}…`;
  return { line, segments: marked(text, terms) };
}

/** Return an expression for the words of a query; Japanese has none between spaces, so pairs of characters. */
function termsOf(query: string): RegExp | null {
  const terms: string[] = [];
  const rest = query.normalize("NFKC").replace(JAPANESE, (run) => {
    const characters = [...run];
    const pairs = characters.length > 1 ? characters.slice(1).map((each, index) => characters[index] + each) : [run];
    const telling = pairs.filter((pair) => !/\p{Script=Hiragana}/u.test(pair)); // no particles and endings
    terms.push(run, ...(telling.length ? telling : pairs));
    return " ";
  });
  for (const [each] of rest.matchAll(WORD)) {
    if (each.length === 1 && terms.length) continue; // a, I
    const start = /^\w/.test(each) ? "\\b" : ""; // which is only known for Latin letters
    terms.push(start + (each.length < LONG_WORD ? each : `${each.slice(0, -3)}\\p{L}*`));
  }
  return terms.length ? new RegExp(terms.join("|"), "giu") : null;
}

/** Return a text in segments, of which those are marked that are words of the query. */
function marked(text: string, terms: RegExp | null) {
  const segments: { text: string; marked: boolean }[] = [];
  let at = 0;
  for (const match of terms ? text.matchAll(terms) : []) {
    if (match.index > at) segments.push({ text: text.slice(at, match.index), marked: false });
    segments.push({ text: match[0], marked: true });
    at = match.index + match[0].length;
  }
  return [...segments, { text: text.slice(at), marked: false }].filter((each) => each.text);
}

/** Return a line without the marks of Markdown; empty for a heading, which is shown above. */
function plain(line: string): string {
  const text = line.replace(/^\s*(?:>\s?|[-*+]\s|\d+\.\s)+(?:\[.\]\s)?(?:\[![\w-]+\][-+]?)?/, "");
  if (HEADING.test(text) || /^\s*(```|[-:| ]+$)/.test(text)) return ""; // or a fence, or a rule of a table
  return text
    .replace(/!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]/g, "$1")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|__|~~|==|`/g, "")
    .replace(/\s*\|\s*/g, " ")
    .trim();
}
