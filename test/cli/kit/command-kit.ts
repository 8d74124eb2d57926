/** Runs commands in this process, on a store in memory, in a project in a temporary folder. */
import type { StopSignal } from '../../../src/cli/exit-codes';
import { run } from '../../../src/cli/program';
import type { Surroundings } from '../../../src/cli/session';
import { systemClock } from '../../../src/base/clock';
import { MemoryConnection } from '../../../src/connections/memory/memory-connection';
import { MemoryStore } from '../../../src/connections/memory/memory-store';
import type { FailedEntry } from '../../../src/connections/failed-store';
import type { Connectors } from '../../../src/connections/connector';
import { TestClock } from '../../../src/testing/test-clock';
import { Project } from './project';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const CONFIG = "module.exports = { connections: { memory: { driver: 'memory' } } };";

export class CommandKit {
  readonly project: Project;
  readonly store = new MemoryConnection('memory', new MemoryStore('memory', systemClock));
  readonly clock = new TestClock();
  /** What the command would have ended the process with. */
  readonly exits: number[] = [];
  /** What the command has named the process. */
  title: string | undefined;
  environment: NodeJS.ProcessEnv = {};
  /** Answers questions; undefined: there is no terminal. */
  answer: string | undefined;
  readonly asked: string[] = [];
  /** How wide the terminal is that it prints to; undefined: it prints to files. */
  columns: number | undefined;
  connectors: Connectors = { memory: () => this.store.duplicate() };
  /** What the end of npm calls. */
  desert: () => void = () => undefined;
  /** How high it is. */
  rows: number | undefined;
  /** Presses keys of the terminal; undefined: nobody listens to them. */
  press: ((keys: string) => void) | undefined;
  #hear: ((signal: StopSignal) => void) | undefined;
  #stdout = '';
  #stderr = '';

  constructor(files: Readonly<Record<string, string>> = {}) {
    this.project = new Project({ 'onqueue.config.js': CONFIG, ...files });
  }

  async run(...line: readonly string[]): Promise<Ended> {
    this.#stdout = '';
    this.#stderr = '';
    const code = await run(line, this.#surroundings());
    return { code, stdout: this.#stdout, stderr: this.#stderr };
  }

  /** `work` in this process: what runs under a supervisor is run by another one. */
  work(...line: readonly string[]): Promise<Ended> {
    return this.run('work', '--no-supervisor', ...line);
  }

  /** What the running command has printed until now. */
  get printed(): string {
    return this.#stdout + this.#stderr;
  }

  /** The same, without what went to standard error. */
  get shown(): string {
    return this.#stdout;
  }

  /** Whether a command listens for signals. */
  get listens(): boolean {
    return this.#hear !== undefined;
  }

  signal(signal: StopSignal): void {
    this.#hear?.(signal);
  }

  push(queue: string, ...names: readonly string[]): Promise<unknown> {
    return this.store.push(
      queue,
      names.map((name) => ({ payload: payloadOf(name) })),
    );
  }

  fail(id: string, more: Partial<Omit<FailedEntry, 'id'>> = {}): Promise<string> {
    const { name = 'SendMail', payload = Buffer.from(payloadOf(name, id)) } = more;
    const entry = {
      connection: 'memory',
      queue: 'default',
      exception: 'Error: refused\n    at mail',
      attempts: 3,
      ...more,
    };
    return this.store.failed.put({ ...entry, id, name, payload });
  }

  async close(): Promise<void> {
    await this.store.close();
    this.project.remove();
  }

  #surroundings(): Surroundings {
    const { answer, columns, rows } = this;
    const terminal = { isTTY: columns !== undefined, columns, rows };
    return {
      stdout: { ...terminal, write: (text) => (this.#stdout += text) },
      stderr: { ...terminal, write: (text) => (this.#stderr += text) },
      clock: this.clock,
      folder: this.project.folder,
      environment: this.environment,
      connectors: this.connectors,
      ask:
        answer === undefined
          ? undefined
          : async (question) => {
              this.asked.push(question);
              return answer;
            },
      onKeys:
        columns === undefined
          ? undefined
          : (hear) => {
              this.press = hear;
              return () => (this.press = undefined);
            },
      onStopSignal: (hear) => {
        this.#hear = hear;
        return () => (this.#hear = undefined);
      },
      onDeserted: (hear) => {
        this.desert = hear;
        return () => undefined;
      },
      onOrphaned: () => () => undefined,
      fork: () => {
        throw new Error('A test of one process starts no other: take work().');
      },
      channel: undefined,
      onStray: () => () => undefined,
      onExit: () => () => undefined,
      setTitle: (title) => (this.title = title),
      exit: (code) => void this.exits.push(code),
    };
  }
}

function payloadOf(name: string, id = name): string {
  return JSON.stringify({
    displayName: name,
    job: 'onqueue',
    data: { commandName: name, command: {} },
    id,
    attempts: 0,
  });
}
