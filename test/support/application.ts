/** An application for one test: a manager on a memory connection, a clock that the test moves, and a log it can read. */
import { JobBus } from '../../src/dispatch/bus';
import { builtInConnectors } from '../../src/connections/built-in';
import type { Logger, LogLevel } from '../../src/base/logger';
import type { Configuration } from '../../src/application/configuration/configuration';
import { QueueManager } from '../../src/application/queue-manager';
import { TestClock } from '../../src/testing/test-clock';

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly facts: object;
}

export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = [];

  debug = (facts: object, message: string): void => this.#add('debug', facts, message);
  info = (facts: object, message: string): void => this.#add('info', facts, message);
  warn = (facts: object, message: string): void => this.#add('warn', facts, message);
  error = (facts: object, message: string): void => this.#add('error', facts, message);

  messages(level: LogLevel): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  #add(level: LogLevel, facts: object, message: string): void {
    this.lines.push({ level, facts, message });
  }
}

export interface TestApplication {
  readonly manager: QueueManager;
  readonly bus: JobBus;
  readonly clock: TestClock;
  readonly log: RecordingLogger;
}

export function testApplication(configuration: Configuration = {}): TestApplication {
  const clock = new TestClock();
  const log = new RecordingLogger();
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: log, clock, random: () => 0.5 },
    { connections: { memory: { driver: 'memory', retryAfter: 30 } }, default: 'memory', ...configuration },
  );
  return { manager, bus: new JobBus(() => manager), clock, log };
}

/** Milliseconds by a real clock: pending work may read a file, which takes thousands of turns on a busy machine. */
const LONGEST = 60_000;

/** Lets pending work run until `condition` holds, without moving the clock. */
export async function until(clock: TestClock, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LONGEST;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('the condition did not come to hold');
    await clock.advance(0);
  }
}

/** Moves the clock in small steps, so that timers set meanwhile fire as well. */
export async function elapse(clock: TestClock, seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 4; step += 1) await clock.advance('250ms');
}

/** A promise that a test opens, to hold a job back until then. */
export class Gate {
  readonly opened: Promise<void>;
  open!: () => void;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}
