/** The progress of a long command: a line on a terminal with a bar, the rate and the time left, removed at the end. */
import type { Clock, Milliseconds, Timer } from '../base/clock';
import { shortSpanText } from '../base/span';
import type { Call } from './command';

export interface Progress {
  readonly done: number;
  /** Undefined if unknown. */
  readonly total?: number | undefined;
}

/** How often the line is redrawn; each time may cost a call to the store. */
const INTERVAL: Milliseconds = 250;

/** The rate is computed over this time: what came before says little about the time left. */
const REMEMBERED: Milliseconds = 15_000;

const BAR_LENGTHS = [20, 10];

/**
 * Shows the progress of `work` in a line on the terminal, and nothing elsewhere, where it would fill a log. @param measure
 * called before the start, and then up to 4 times a second; absent: only the elapsed time is shown
 */
export async function showingProgress<T>(
  { output, session }: Call,
  doing: string,
  work: () => Promise<T>,
  measure?: () => Promise<Progress>,
): Promise<T> {
  if (output.room === undefined || output.isJson) return work();
  const { clock } = session.surroundings;
  const begun = clock.monotonic();
  const pace = new Pace(clock);
  let timer: Timer | undefined;
  let isOver = false;
  // Ignores errors: the work itself meets the same trouble and reports it.
  const ask = async (): Promise<Progress | undefined> => measure?.().catch(() => undefined);
  const show = async (): Promise<void> => {
    const progress = await ask();
    if (isOver) return;
    const facts = progress === undefined ? [] : [doneText(progress), ...pace.facts(progress)];
    const elapsed = `${shortSpanText(clock.monotonic() - begun)} so far`;
    const told = facts.length > 0 ? facts : [elapsed];
    output.renew(progressLine(doing, progress, told, output.room ?? 0));
    timer = clock.after(INTERVAL, () => void show());
  };
  const first = await ask();
  if (first !== undefined) pace.facts(first);
  timer = clock.after(INTERVAL, () => void show());
  try {
    return await work();
  } finally {
    isOver = true;
    timer.cancel();
    output.renew('');
  }
}

/** Measures progress by what is left, if everything is to go. */
export function fromLeft(left: () => Promise<number>): () => Promise<Progress> {
  let total: number | undefined;
  return async () => {
    const now = await left();
    total ??= now;
    return { done: Math.max(total - now, 0), total };
  };
}

/** Only part of it is to go, and nobody knows how much. */
export function withoutTotal(measure: () => Promise<Progress>): () => Promise<Progress> {
  return async () => ({ done: (await measure()).done });
}

/** The rate of progress over the last seconds. */
export class Pace {
  readonly #clock: Clock;
  #marks: readonly { readonly at: Milliseconds; readonly done: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records the progress; returns its rate and the time left, such as `['400/s', '5s left']`, as far as they are known. */
  facts({ done, total }: Progress): string[] {
    const at = this.#clock.monotonic();
    this.#marks = [...this.#marks.filter((mark) => at - mark.at <= REMEMBERED), { at, done }];
    const [first = { at, done }] = this.#marks;
    const rate = (done - first.done) / (at - first.at);
    if (!(rate > 0)) return [];
    const left =
      total === undefined || total <= done ? [] : [`${shortSpanText(Math.max((total - done) / rate, 1000))} left`];
    return [rateText(rate), ...left];
  }
}

function rateText(perMillisecond: number): string {
  const isSlow = perMillisecond * 1000 < 1;
  const count = perMillisecond * (isSlow ? 60_000 : 1000);
  return `${count.toLocaleString('en-US', { maximumFractionDigits: count < 10 ? 1 : 0 })}/${isSlow ? 'min' : 's'}`;
}

/** `40% of 3,000`, rounded down, because 100% means the end. */
export function doneText({ done, total }: Progress): string {
  if (total === undefined) return `${done.toLocaleString('en-US')} done`;
  return `${Math.floor(shareOf(done, total) * 100)}% of ${total.toLocaleString('en-US')}`;
}

/**
 * `Retrying [####----] 40% of 3,000, 400/s, 5s left`, in less than `room`: a terminal begins a new line at its last column.
 * Without room the bar goes first, then the facts from the end. @param doing empty if that is obvious
 */
export function progressLine(
  doing: string,
  progress: Progress | undefined,
  facts: readonly string[],
  room: number,
): string {
  const { done, total } = progress ?? { done: 0 };
  const bars = total === undefined ? [] : BAR_LENGTHS.map((length) => barText(shareOf(done, total), length));
  const all = facts.join(', ');
  const fewer = facts.map((_, place) => facts.slice(0, facts.length - place).join(', '));
  const lines = [
    ...bars.map((bar) => [doing, bar, all].join(' ').trimStart()),
    ...(doing === '' ? [] : fewer.map((some) => `${doing}: ${some}`)),
    ...fewer,
  ];
  return lines.find((line) => line.length < room) ?? (facts[0] ?? '').slice(0, Math.max(room - 1, 0));
}

function barText(share: number, length: number): string {
  const full = Math.floor(share * length);
  return `[${'#'.repeat(full)}${'-'.repeat(length - full)}]`;
}

// More may arrive than was there at first.
function shareOf(done: number, total: number): number {
  return total === 0 ? 1 : Math.min(done / total, 1);
}
