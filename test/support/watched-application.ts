/** An application whose memory connections record each push, and can be told to fail one. */
import { builtInConnectors } from '../../src/connections/built-in';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import type { Configuration } from '../../src/application/configuration/configuration';
import type { Entry, Pushed } from '../../src/connections/contract';
import { QueueManager, type QueueEnvironment } from '../../src/application/queue-manager';
import { TestClock } from '../../src/testing/test-clock';
import { RecordingLogger } from './application';

export class KeptLog extends RecordingLogger {
  /** `level: message`, in order. */
  get texts(): string[] {
    return this.lines.map(({ level, message }) => `${level}: ${message}`);
  }
}

export class WatchedConnection extends MemoryConnection {
  readonly pushes: { readonly queue: string; readonly entries: readonly Entry[] }[] = [];
  /** Called before each push with the number of earlier ones. The push rejects with what this throws. */
  beforePush: (count: number) => void | Promise<void> = () => undefined;

  constructor(name: string, clock: TestClock) {
    super(name, new MemoryStore(name, clock));
  }

  override async push(queue: string, entries: readonly Entry[]): Promise<readonly Pushed[] | void> {
    await this.beforePush(this.pushes.length);
    this.pushes.push({ queue, entries });
    return super.push(queue, entries);
  }

  /** The waiting jobs of a queue, parsed. */
  async payloads(queue: string, state: 'ready' | 'delayed' = 'ready'): Promise<Record<string, unknown>[]> {
    const jobs = await this.queues.peek(queue, state, 1000);
    return jobs.map(({ payload }) => JSON.parse(payload.toString()) as Record<string, unknown>);
  }
}

export interface WatchedApplication {
  readonly manager: QueueManager;
  readonly clock: TestClock;
  readonly log: KeptLog;
  /** The driver of a memory connection. */
  readonly watched: (name?: string) => WatchedConnection;
}

export function watchedApplication(
  configuration: Configuration = { connections: { main: { driver: 'memory' } } },
  environment: Partial<QueueEnvironment> = {},
): WatchedApplication {
  const clock = new TestClock();
  const log = new KeptLog();
  const connectors: QueueEnvironment['connectors'] = {
    ...builtInConnectors,
    memory: (_config, { name }) => new WatchedConnection(name, clock),
  };
  const manager = new QueueManager({ connectors, logger: log, clock, ...environment }, configuration);
  return { manager, clock, log, watched: (name) => manager.driver(name) as WatchedConnection };
}
