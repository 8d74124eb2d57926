/** Finds the known words that a mistyped one may have meant. */

/** The `most` nearest words, nearest first. Empty if all are too far off. Ignores case. */
export function nearest(word: string, known: readonly string[], most = 3): string[] {
  // A third of the letters: nearly every word is near a short one, and a far-fetched hint misleads.
  const limit = Math.floor(word.length / 3);
  return known
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase(), limit) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

// Optimal string alignment: insert, remove, replace, or swap two neighbours (the most common slip).
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(line, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      line.push(cost);
    }
    beforeLast = last;
    last = line;
  }
  return at(last, b.length);
}

function at(line: readonly number[], column: number): number {
  return line[column] ?? Infinity;
}
