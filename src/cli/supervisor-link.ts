/** The tie of a process to the supervisor that has started it: tells it how the worker is, and ends when it says so. */
import { endOfTurn, type Milliseconds, type Timer } from '../clock/clock';
import { type HealthReport, isEndOrder } from '../worker/supervision';
import type { Worker } from '../worker/worker';
import type { Surroundings } from './session';

const INTERVAL: Milliseconds = 1000;

export class SupervisorLink {
  readonly #surroundings: Surroundings;
  readonly #worker: Worker;
  readonly #stopHearing: (() => void) | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(surroundings: Surroundings, worker: Worker) {
    this.#surroundings = surroundings;
    this.#worker = worker;
    this.#stopHearing = surroundings.channel?.hear((message) => {
      if (isEndOrder(message)) surroundings.exit(message.code);
    });
  }

  /** The first report says that the worker could start: what it stumbles over at once, it has thrown within this turn. */
  begin(): void {
    void endOfTurn().then(() => {
      if (!this.#isOver) this.#report();
    });
  }

  /** Tells why the worker has come to its end; not of one that could not even begin. */
  end(): void {
    this.#tell();
  }

  close(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#stopHearing?.();
  }

  #report(): void {
    this.#tell();
    this.#timer = this.#surroundings.clock.after(INTERVAL, () => this.#report());
  }

  #tell(): void {
    const report: HealthReport = { onqueue: 'health', health: this.#worker.health() };
    this.#surroundings.channel?.tell(report);
  }
}
