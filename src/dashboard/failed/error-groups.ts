/** Puts failed jobs together whose errors say the same of different things. */
import type { FailedJob } from '../../application/failed/failed-job';

export interface ErrorGroup {
  readonly name: string;
  /** What the errors have in common: a text in each of them. */
  readonly error: string;
  readonly queues: readonly string[];
  readonly count: number;
  readonly newest: FailedJob;
  readonly oldest: FailedJob;
}

/** Characters of what they have in common. */
const LONGEST = 160;

/** The largest first. @param jobs newest first */
export function groupsOf(jobs: readonly FailedJob[]): readonly ErrorGroup[] {
  const groups = new Map<string, FailedJob[]>();
  for (const job of jobs) {
    const key = JSON.stringify([job.name, commonText(job.exception)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [job]);
    else group.push(job);
  }
  return [...groups.values()]
    .map((group) => ({
      name: group[0]!.name,
      error: commonText(group[0]!.exception),
      queues: [...new Set(group.map(({ queue }) => queue))],
      count: group.length,
      newest: group[0]!,
      oldest: group.at(-1)!,
    }))
    .toSorted((a, b) => b.count - a.count || b.newest.failedAt.getTime() - a.newest.failedAt.getTime());
}

/** `Error: customer gone-17 is unknown` → `Error: customer`: the first line up to what differs from job to job. */
export function commonText(exception: string): string {
  // Forms do not bring back what ends lines, and what is no text, as it was.
  const [line = ''] = /[^\r\n\0\p{Cs}]+/u.exec(exception) ?? [];
  const pieces = piecesOf(line.slice(0, LONGEST));
  const [first = ''] = pieces;
  // Of an error that begins with what differs, the class alone would be too little.
  if (!/^[\w$]*:?$/.test(first)) return first;
  const longest = pieces.reduce((one, other) => (other.length > one.length ? other : one), first);
  return longest === '' ? line.slice(0, LONGEST).trim() : longest;
}

/** The texts between the words that look like numbers, ids, names or places. */
function piecesOf(line: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let before = '';
  for (const { 0: word, index } of line.matchAll(/\S+/g)) {
    if (differs(word, before)) {
      pieces.push(line.slice(start, index).trim());
      start = index + word.length;
    }
    before = word;
  }
  return [...pieces, line.slice(start).trim()];
}

function differs(word: string, before: string): boolean {
  // The status of an answer says what went wrong.
  if (/^[1-5]\d\d\b/.test(word) && /^(status|code|http\S*)[:=]?$|:$/i.test(before)) return false;
  return /[\d'"`“”«»@]|^[/\\<{[]/.test(word);
}
