/** A supervisor whose processes the test plays, on a clock that the test moves. */
import { TestClock } from '../../src/testing/test-clock';
import { type ProcessOrder, Supervisor, type SupervisorSettings } from '../../src/worker/supervisor/supervisor';
import { RecordingLogger } from './application';
import { FakeChild } from './fake-child';

export const REASONS = {
  stopped: 'told to',
  empty: 'empty',
  once: 'once',
  'max-jobs': 'max-jobs',
  'max-time': 'max-time',
  memory: 'too large',
  restart: 'to start anew',
  stuck: 'stuck',
  uncaught: 'uncaught',
  recycle: 'old',
  changed: 'its code has changed',
};

export class SupervisedWorld {
  readonly clock = new TestClock();
  readonly log = new RecordingLogger();
  /** The orders with which processes were started. */
  readonly orders: ProcessOrder[] = [];
  readonly children: FakeChild[] = [];

  supervisor(settings: Partial<SupervisorSettings> = {}): Supervisor {
    return new Supervisor({
      processes: 1,
      patience: 40_000,
      maxTime: Infinity,
      recycle: Infinity,
      clock: this.clock,
      random: () => 1,
      logger: this.log,
      reasons: REASONS,
      start: (order) => {
        const child = new FakeChild(100 + this.children.length);
        this.orders.push(order);
        this.children.push(child);
        return child;
      },
      ...settings,
    });
  }
}
