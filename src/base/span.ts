/** How long something took, or is still to take, for people: in two units at most. */
import type { Milliseconds } from './clock';

type Unit = 'd' | 'h' | 'min' | 's' | 'ms';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `850 ms`, `3.2 s`, `12 s`, `1 h 58 min`, `3 d`. From ten seconds on it is rounded down. */
export function spanText(span: Milliseconds): string {
  return spanParts(span)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** `1h 58m`, `12s`: for terminals, in whole seconds. */
export function shortSpanText(span: Milliseconds): string {
  if (span < 1000) return '0s';
  return spanParts(Math.floor(span / 1000) * 1000)
    .map(([count, unit]) => `${count}${unit === 'min' ? 'm' : unit}`)
    .join(' ');
}

function spanParts(span: Milliseconds): readonly (readonly [count: number, unit: Unit])[] {
  if (Math.round(span) < 1000) return [[Math.round(span), 'ms']];
  if (Math.round(span / 100) < 100) return [[Math.round(span / 100) / 10, 's']];
  const largest = UNITS.findIndex(([, length]) => span >= length);
  // Nearly ten seconds.
  if (largest < 0 || UNITS[largest]![0] === 's') return [[Math.max(Math.floor(span / 1000), 10), 's']];
  const [unit, length] = UNITS[largest]!;
  const [smaller, smallerLength] = UNITS[largest + 1]!;
  const count = Math.floor(span / length);
  const rest = Math.floor((span - count * length) / smallerLength);
  return rest === 0
    ? [[count, unit]]
    : [
        [count, unit],
        [rest, smaller],
      ];
}
