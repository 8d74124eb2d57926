/** The queues on a terminal, redrawn every two seconds, with keys to pause them. */
import type { Milliseconds, Timer } from '../base/clock';
import type { QueueConnection } from '../dispatch/queue-connection';
import type { Snapshot } from '../operations/snapshot';
import { errorText } from './error-text';
import { snapshotTexts } from './monitor-text';
import { Screen } from './screen';
import type { Surroundings } from './session';
import { counted } from './table';

const INTERVAL: Milliseconds = 2000;

/** Escape sequences, such as those of the arrow keys, and single characters. */
// oxlint-disable-next-line no-control-regex
const KEYS = /\u001B(?:\[[\d;]*[A-Za-z~]|O[A-Z])|[^]/gu;
const UP = ['\u001B[A', '\u001BOA', 'k'];
const DOWN = ['\u001B[B', '\u001BOB', 'j'];
/** The last two are Ctrl-C and Ctrl-D. */
const QUIT = ['q', 'Q', '\u0003', '\u0004'];

export interface LiveMonitorOptions {
  /** Default: all queues that were ever used. */
  readonly queues?: readonly string[] | undefined;
  /** Default: no limit. */
  readonly max?: number | undefined;
}

export class LiveMonitor {
  readonly #surroundings: Surroundings;
  readonly #connection: QueueConnection;
  readonly #options: LiveMonitorOptions;
  readonly #screen: Screen;
  #snapshot: Snapshot | undefined;
  #selected: string | undefined;
  /** The last action, or why it failed. */
  #remark = '';
  /** Why the last refresh failed. */
  #trouble: string | undefined;
  /** Pausing all queues needs a second `p`. */
  #isAsked = false;
  #isOver = false;
  #wake: () => void = () => undefined;
  #leave: () => void = () => undefined;
  readonly #over = new Promise<void>((resolve) => (this.#leave = resolve));

  constructor(surroundings: Surroundings, connection: QueueConnection, options: LiveMonitorOptions) {
    this.#surroundings = surroundings;
    this.#connection = connection;
    this.#options = options;
    this.#screen = new Screen(surroundings.stdout);
  }

  /** Returns the last snapshot shown. */
  async run(onKeys: (hear: (keys: string) => void) => () => void): Promise<Snapshot | undefined> {
    const { onStopSignal, onExit } = this.#surroundings;
    const undo = [
      onKeys((keys) => (keys.match(KEYS) ?? []).forEach((key) => this.#press(key))),
      onStopSignal(() => this.#quit()),
      // However the process ends, it must leave a usable terminal.
      onExit(() => this.#screen.close()),
    ];
    try {
      this.#draw();
      while (!this.#isOver) {
        await this.#orQuit(this.#look());
        await this.#orQuit(this.#pause());
      }
      return this.#snapshot;
    } finally {
      for (const stop of undo) stop();
      this.#screen.close();
    }
  }

  async #look(): Promise<void> {
    try {
      this.#snapshot = await this.#connection.snapshot({ queues: this.#options.queues });
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = errorText(error);
    }
    if (!this.#isOver) this.#draw();
  }

  /** An unreachable store must not keep anybody from leaving. */
  #orQuit(step: Promise<void>): Promise<void> {
    return Promise.race([step, this.#over]);
  }

  /** Waits until the next refresh is due, or a key has changed something. */
  async #pause(): Promise<void> {
    if (this.#isOver) return;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = this.#surroundings.clock.after(INTERVAL, resolve, true);
    });
    timer?.cancel();
  }

  #quit(): void {
    this.#isOver = true;
    this.#wake();
    this.#leave();
  }

  #press(key: string): void {
    const wasAsked = this.#isAsked;
    this.#isAsked = false;
    if (QUIT.includes(key)) return this.#quit();
    this.#remark = '';
    if (key === 'p') this.#togglePause(wasAsked);
    else if (DOWN.includes(key)) this.#select(1);
    else if (UP.includes(key)) this.#select(-1);
    this.#draw();
  }

  /** One step before the first queue, or after the last one, selects none. */
  #select(step: number): void {
    const names = [undefined, ...(this.#snapshot?.queues ?? []).map(({ queue }) => queue)];
    const place = names.indexOf(this.#selected);
    this.#selected = names[(place + step + names.length) % names.length];
  }

  #togglePause(isConfirmed: boolean): void {
    const shown = this.#snapshot?.queues ?? [];
    const meant = this.#selected === undefined ? shown : shown.filter(({ queue }) => queue === this.#selected);
    if (meant.length === 0) return;
    const isPause = meant.some(({ isPaused }) => !isPaused);
    const what = this.#selected ?? counted(meant.length, 'queue');
    if (this.#selected === undefined && !isConfirmed) {
      this.#isAsked = true;
      this.#remark = `Press p again to ${isPause ? 'pause' : 'resume'} ${what}.`;
      return;
    }
    void this.#carryOut(
      meant.map(({ queue }) => queue),
      isPause,
      what,
    );
  }

  async #carryOut(queues: readonly string[], isPause: boolean, what: string): Promise<void> {
    try {
      for (const queue of queues) await (isPause ? this.#connection.pause(queue) : this.#connection.resume(queue));
      this.#remark = `${isPause ? 'Paused' : 'Resumed'} ${what}.`;
    } catch (error) {
      this.#remark = errorText(error);
    }
    this.#wake();
  }

  #draw(): void {
    const keys = `q: quit   p: pause or resume ${this.#selected ?? 'all'}   up, down: choose a queue`;
    const room = Math.max(this.#screen.rows - 3, 1);
    const body = this.#snapshot === undefined ? ['…'] : this.#body(this.#snapshot, room);
    const filled = [...body, ...Array.from({ length: Math.max(room - body.length, 0) }, () => '')];
    const [remark = ''] = (this.#trouble ?? this.#remark).split('\n');
    this.#screen.draw([...filled.slice(0, room), '', remark, keys]);
  }

  #body(snapshot: Snapshot, room: number): readonly string[] {
    const { max = Infinity } = this.#options;
    const { summary, queues, running } = snapshotTexts(snapshot, { max, selected: this.#selected });
    const [headings = '', ...rows] = queues;
    // Running jobs get a third of the room if there are more queues than fit.
    const forRunning = Math.min(running.length, Math.max(Math.floor(room / 3), room - rows.length - 4));
    const shown = window(
      rows,
      snapshot.queues.findIndex(({ queue }) => queue === this.#selected),
      room - 4 - forRunning,
    );
    return [summary, '', headings, ...shown, '', ...running.slice(0, forRunning)];
  }
}

/** As many rows as fit, including the selected one. */
function window(rows: readonly string[], chosen: number, room: number): readonly string[] {
  const most = Math.max(room, 1);
  if (rows.length <= most) return rows;
  const from = Math.max(0, Math.min(chosen - most + 2, rows.length - most + 1));
  return [...rows.slice(from, from + most - 1), `  … ${counted(rows.length - most + 1, 'more queue')}`];
}
