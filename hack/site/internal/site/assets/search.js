"use strict";

// search returns the best sections that contain each word of a query, at most limit of them. A word also matches the
// beginning of a longer one; a match inside a word counts least.
function search(index, query, limit) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [];
  const found = [];
  for (const section of index) {
    const score = scoreOf(section, words);
    if (score > 0) found.push({ section, score });
  }
  found.sort((a, b) => b.score - a.score);
  return found.slice(0, limit).map((f) => ({ section: f.section, excerpt: excerptOf(f.section.text, words) }));
}

// scoreOf returns 0 unless a section contains all words. A heading counts more than a page's title, and that more than text.
function scoreOf(section, words) {
  let sum = 0;
  for (const word of words) {
    const score =
      20 * matchOf(section.heading, word) + 8 * matchOf(section.page, word) + 2 * matchOf(section.text, word);
    if (score === 0) return 0;
    sum += score;
  }
  return sum;
}

// matchOf returns 3 for a whole word, 2 for the beginning of a word, 1 for a match inside a word, and 0 for none.
function matchOf(text, word) {
  const lower = text.toLowerCase();
  let best = 0;
  for (let at = lower.indexOf(word); at >= 0 && best < 3; at = lower.indexOf(word, at + 1)) {
    const begins = at === 0 || !isWordCharacter(lower[at - 1]);
    const ends = at + word.length === lower.length || !isWordCharacter(lower[at + word.length]);
    best = Math.max(best, begins ? (ends ? 3 : 2) : 1);
  }
  return best;
}

function isWordCharacter(character) {
  return /[\p{L}\p{N}_]/u.test(character);
}

// endOfWord returns the end of the word at a position.
function endOfWord(text, at) {
  const space = text.indexOf(" ", at);
  return space < 0 || space > at + 30 ? Math.min(text.length, at) : space;
}

// excerptOf returns the text around the first word, as parts that match and parts that do not.
function excerptOf(text, words) {
  const lower = text.toLowerCase();
  const first = Math.max(0, Math.min(...words.map((word) => (lower.indexOf(word) < 0 ? Infinity : lower.indexOf(word)))));
  const start = first === Infinity || first < 60 ? 0 : text.indexOf(" ", first - 60) + 1;
  const end = endOfWord(text, start + 180);
  const parts = [];
  let plain = start;
  for (let at = start; at < end; ) {
    const word = words.find((candidate) => lower.startsWith(candidate, at));
    if (word === undefined) {
      at++;
      continue;
    }
    if (at > plain) parts.push({ text: text.slice(plain, at), match: false });
    parts.push({ text: text.slice(at, at + word.length), match: true });
    at += word.length;
    plain = at;
  }
  if (end > plain) parts.push({ text: text.slice(plain, end), match: false });
  return parts;
}
