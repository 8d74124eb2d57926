/** A child process played by the test: it records what it is told, and says what the test wants. */
import { EventEmitter } from 'node:events';
import type { JobCounts } from '../../src/operations/figures/job-counters';
import { UNBORN, type WorkerHealth } from '../../src/worker/health';
import type { StopReason } from '../../src/worker/stop';
import type { HeldJob } from '../../src/worker/supervisor/supervision';
import type { Child } from '../../src/worker/supervisor/supervised-process';

export class FakeChild extends EventEmitter implements Child {
  /** Signals and messages, in order. */
  readonly told: unknown[] = [];
  connected = true;
  readonly pid: number;

  constructor(pid: number) {
    super();
    this.pid = pid;
  }

  kill(signal: NodeJS.Signals): boolean {
    this.told.push(signal);
    return true;
  }

  send(message: object): boolean {
    this.told.push(message);
    return true;
  }

  /** Reports that its worker is running, or as `health` says. */
  reports(health: Partial<WorkerHealth> = {}, jobs: readonly HeldJob[] = [], counted?: readonly JobCounts[]): void {
    const running = { ...UNBORN, state: 'running', ready: true, running: jobs.length } as const;
    this.emit('message', { onqueue: 'health', health: { ...running, ...health }, jobs, counted });
  }

  /** Takes no more jobs, and finishes those it has. */
  drains(reason: StopReason): void {
    this.reports({ state: 'stopping', reason });
  }

  /** Ends by itself. */
  finishes(reason: StopReason, code = 0): void {
    this.reports({ state: 'stopped', reason });
    this.dies(code);
  }

  dies(end: number | NodeJS.Signals): void {
    this.connected = false;
    this.emit('disconnect');
    if (typeof end === 'number') this.emit('exit', end, null);
    else this.emit('exit', null, end);
  }
}
