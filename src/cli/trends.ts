/** How many jobs of each queue ended of late, as a line of bars: whether it goes on, slows down or has stopped. */
import type { Clock, Milliseconds } from '../base/clock';
import type { QueueConnection } from '../dispatch/queue-connection';

/** The heading of the bars. */
export const TREND = 'last 30 min';

const WITHIN = '30m';
const BARS = '▁▂▃▄▅▆▇█';

/** One for three minutes. */
const COUNT = 10;

/** The figures are of whole minutes. */
const EVERY: Milliseconds = 20_000;

export class Trends {
  readonly #connection: QueueConnection;
  readonly #clock: Clock;
  #due: Milliseconds = -Infinity;
  #bars = new Map<string, string>();

  constructor(connection: QueueConnection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** Reads them again if they are old. */
  async look(): Promise<void> {
    if (this.#clock.monotonic() < this.#due) return;
    this.#due = this.#clock.monotonic() + EVERY;
    // A store without figures has none; one that is away is reported by what else is asked of it.
    const figures = await this.#connection.figures({ within: WITHIN, spans: true }).catch(() => undefined);
    this.#bars = new Map(
      figures?.queues.map(({ queue, spans = [] }) => [
        queue,
        barsOf(spans.map(({ completed, failed }) => completed + failed)),
      ]),
    );
  }

  readonly of = (queue: string): string => this.#bars.get(queue) ?? '';
}

/** A bar for each of ten equal parts, as high as the highest one lets it be; a dot where nothing was. */
export function barsOf(counts: readonly number[]): string {
  const sums = Array.from({ length: COUNT }, () => 0);
  for (const [place, count] of counts.entries()) sums[Math.floor((place / counts.length) * COUNT)]! += count;
  const most = Math.max(...sums);
  return sums.map((sum) => (sum === 0 ? '·' : BARS[Math.ceil((sum / most) * BARS.length) - 1]!)).join('');
}
