/** Runs commands in this process, on a store in memory, in a temporary project. */
import type { StopSignal } from '../../../src/cli/stop-signals';
import { run } from '../../../src/cli/program';
import type { Surroundings } from '../../../src/cli/session';
import { systemClock } from '../../../src/base/clock';
import { MemoryConnection } from '../../../src/connections/memory/connection';
import { MemoryStore } from '../../../src/connections/memory/store';
import type { FailedEntry } from '../../../src/connections/failed-store';
import type { Connectors } from '../../../src/connections/driver';
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
  /** The codes with which the command would have ended the process. */
  readonly exits: number[] = [];
  /** The title that the command gave the process. */
  title: string | undefined;
  environment: NodeJS.ProcessEnv = {};
  /** The answer to questions. Undefined if there is no terminal. */
  answer: string | undefined;
  readonly asked: string[] = [];
  /** The width of the terminal. Undefined if the output is not a terminal. */
  columns: number | undefined;
  connectors: Connectors = { memory: () => this.store.duplicate() };
  /** Simulates the end of npm. */
  desert: () => void = () => undefined;
  /** The height of the terminal. */
  rows: number | undefined;
  /** Presses keys. Undefined if no command listens. */
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

  /** Runs `work` in this process, because a supervisor would start another one. */
  work(...line: readonly string[]): Promise<Ended> {
    return this.run('work', '--no-supervisor', ...line);
  }

  /** What the running command has printed so far. */
  get printed(): string {
    return this.#stdout + this.#stderr;
  }

  /** The same without standard error. */
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

/** What a list with `--json` has. */
export const itemsIn = (stdout: string): readonly unknown[] =>
  (JSON.parse(stdout) as { readonly items: readonly unknown[] }).items;
