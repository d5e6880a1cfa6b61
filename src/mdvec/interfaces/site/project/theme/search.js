// How the search box reads texts and queries, in Node and in the browser.
const unspaced = '\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff'
const run = new RegExp(`[${unspaced}々〆〇ー]+|(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}_])+`, 'gu')
const hiragana = /[\u3041-\u309f]/
const japanese = new RegExp(`^[${unspaced}々〆〇ー]`)

// Japanese has no spaces: two neighbouring characters make a term, in notes and in queries.
function tokenize(text) {
  const terms = []
  // Titles are HTML.
  for (const [found] of text.replace(/&(?:#\d+|\w+);/g, ' ').normalize('NFKC').toLowerCase().matchAll(run)) {
    if (!japanese.test(found) || found.length === 1) terms.push(found)
    else for (let i = 0; i + 1 < found.length; i++) terms.push(found.slice(i, i + 2))
  }
  return terms
}

// A question has particles and endings that the answer has not: pairs with hiragana count if there are no others.
function queryTerms(text) {
  const terms = tokenize(text)
  const subjects = terms.filter((term) => !hiragana.test(term))
  return subjects.length ? subjects : terms
}

export const indexOptions = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'], tokenize }

export const searchOptions = {
  tokenize: queryTerms,
  combineWith: 'AND',
  fuzzy: false,
  prefix: (term) => term.length === 1 || !japanese.test(term),
}
