/** `monitor`: the queues and the running jobs; on a terminal redrawn every two seconds, with keys to pause queues. */
import type { Milliseconds, Timer } from '../../base/clock';
import { groupsOf } from '../../base/collections';
import { oneLine } from '../../base/text';
import { shortSpanText } from '../../base/span';
import type { QueueConnection } from '../../dispatch/queue-connection';
import type { QueueSnapshot, Snapshot } from '../../operations/snapshot';
import { defineCommand } from '../command';
import { errorText } from '../errors';
import { CONNECTION, count, namesIn } from '../flags';
import { openConnection } from '../named-queues';
import { type Cell, counted, cut, formatTable, momentText } from '../output';
import type { Surroundings } from '../session';

export const monitor = defineCommand({
  name: 'monitor',
  summary: 'show the queues and running jobs, live on a terminal',
  description:
    'On a terminal it is redrawn every two seconds: up and down select a queue, p pauses or resumes it (or all shown queues if ' +
    'none is selected), and q quits. Elsewhere, and with --json, it prints once.',
  examples: [
    ['onqueue monitor', 'all queues of the default connection'],
    ['onqueue monitor high,default', 'two queues'],
    ['onqueue monitor --max=1000 >/dev/null || alert', 'exits with 1 if a queue is too long'],
    ["onqueue monitor --json | jq '.queues[].oldestWait'", 'for a program'],
  ],
  words: ['[queue]', 'one queue or several, such as high,default (default: all that were ever used)'],
  flags: {
    max: count('<count>', 'mark queues with more ready jobs than this, and exit with 1 if there are any'),
    connection: CONNECTION,
  },
  async run(call) {
    const { flags, output, session, words } = call;
    const { max = Infinity } = flags;
    const { connection } = await openConnection(call);
    const queues = words[0] === undefined ? undefined : namesIn(words[0], 'queue');
    const { stdout, onKeys } = session.surroundings;
    let snapshot: Snapshot | undefined;
    if (onKeys !== undefined && stdout.isTTY === true && !output.isJson) {
      snapshot = await new LiveMonitor(session.surroundings, connection, queues, max).run(onKeys);
    } else {
      snapshot = await connection.snapshot({ queues });
      const { summary, queues: lines, running } = snapshotTexts(snapshot, max);
      output.result(snapshot, summary, '', ...lines, ...(running.length > 0 ? ['', ...running] : []));
      const { otherQueues } = snapshot;
      if (otherQueues > 0) output.note(`${counted(otherQueues, 'more queue')}; name queues to see them.`);
    }
    for (const { queue, ready } of snapshot === undefined ? [] : crowded(snapshot, max))
      call.fail(`${counted(ready, 'job')} in ${queue} of ${connection.name}: more than ${max} are ready.`);
  },
});

const INTERVAL: Milliseconds = 2000;

/** Escape sequences, such as those of the arrow keys, and single characters. */
// oxlint-disable-next-line no-control-regex
const KEYS = /\u001B(?:\[[\d;]*[A-Za-z~]|O[A-Z])|[^]/gu;
const UP = ['\u001B[A', '\u001BOA', 'k'];
const DOWN = ['\u001B[B', '\u001BOB', 'j'];

/** The last two are Ctrl-C and Ctrl-D. */
const QUIT = ['q', 'Q', '\u0003', '\u0004'];

const ENTER = '\u001B[?1049h\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?1049l';
const HOME = '\u001B[H';
const REST_OF_LINE = '\u001B[K';
const REST_OF_SCREEN = '\u001B[J';

/** The queues on a terminal, redrawn every two seconds, with keys to pause them. */
class LiveMonitor {
  readonly #surroundings: Surroundings;
  readonly #connection: QueueConnection;
  readonly #queues: readonly string[] | undefined;
  readonly #max: number;
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

  /** @param queues undefined: all that were ever used */
  constructor(
    surroundings: Surroundings,
    connection: QueueConnection,
    queues: readonly string[] | undefined,
    max: number,
  ) {
    this.#surroundings = surroundings;
    this.#connection = connection;
    this.#queues = queues;
    this.#max = max;
  }

  /** Returns the last snapshot shown. */
  async run(onKeys: (hear: (keys: string) => void) => () => void): Promise<Snapshot | undefined> {
    const { stdout, onStopSignal, onExit } = this.#surroundings;
    stdout.write(ENTER);
    const undo = [
      onKeys((keys) => (keys.match(KEYS) ?? []).forEach((key) => this.#press(key))),
      onStopSignal(() => this.#quit()),
      // However the process ends, it must leave a usable terminal.
      onExit(() => stdout.write(LEAVE)),
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
      stdout.write(LEAVE);
    }
  }

  async #look(): Promise<void> {
    try {
      this.#snapshot = await this.#connection.snapshot({ queues: this.#queues });
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
    const { stdout } = this.#surroundings;
    // A terminal may not report its size.
    const { columns = 80, rows = 24 } = stdout;
    const room = Math.max(rows - 3, 1);
    const body = this.#snapshot === undefined ? ['…'] : this.#body(this.#snapshot, room);
    const filled = [...body, ...Array.from({ length: Math.max(room - body.length, 0) }, () => '')];
    const [remark = ''] = (this.#trouble ?? this.#remark).split('\n');
    // A terminal would begin a new line at the last column.
    const lines = [...filled.slice(0, room), '', remark, keys].slice(0, rows);
    const shown = lines.map((line) => cut(line, columns - 1) + REST_OF_LINE);
    stdout.write(HOME + shown.join('\r\n') + REST_OF_SCREEN);
  }

  #body(snapshot: Snapshot, room: number): readonly string[] {
    const { summary, queues, running } = snapshotTexts(snapshot, this.#max, this.#selected);
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

/** Chosen so that a terminal of 60 columns has room for the name of the queue. */
const HEADINGS = ['ready', 'delayed', 'running', 'failed', 'wait', '/min', 'queue'];

/** Marks queues with more than `max` ready jobs, and the one that keys act on. The lists begin with their headings. */
export function snapshotTexts(snapshot: Snapshot, max: number, selected?: string) {
  const { connection, at, isExact, queues } = snapshot;
  const long = crowded(snapshot, max);
  const marks = queues.map((queue) => (queue.queue === selected ? '>' : ' ') + (long.includes(queue) ? '!' : ' '));
  const estimate = isExact ? [] : ['estimated'];
  return {
    summary: [connection, momentText(at), workersText(snapshot), ...estimate].join('   '),
    queues: formatTable(HEADINGS, [...queues.map(rowOf), ...totalsOf(queues)])
      .split('\n')
      .map((line, row) => `${marks[row - 1] ?? '  '} ${line}`),
    running: runningLines(snapshot),
  };
}

/** The queues with more than `max` ready jobs. */
function crowded({ queues }: Snapshot, max: number): readonly QueueSnapshot[] {
  return queues.filter(({ ready }) => ready > max);
}

/** A last row, if there are several queues. */
function totalsOf(queues: readonly QueueSnapshot[]): readonly (readonly Cell[])[] {
  if (queues.length < 2) return [];
  const sum = (of: (queue: QueueSnapshot) => number | undefined): number =>
    queues.reduce((total, queue) => total + (of(queue) ?? 0), 0);
  const known = { failed: sum(({ failed }) => failed), failures: sum(({ failures }) => failures) };
  const [ready, delayed, running] = [sum((one) => one.ready), sum((one) => one.delayed), sum((one) => one.running)];
  const perMinute = Math.round(sum(({ rate }) => rate) * 10) / 10;
  return [[ready, delayed, running, failedText(known), '', perMinute, `all ${queues.length}`]];
}

function rowOf(queue: QueueSnapshot): Cell[] {
  const { ready, delayed, running, oldestWait, rate, isPaused } = queue;
  const wait = oldestWait === undefined ? '' : shortSpanText(oldestWait * 1000);
  const perMinute = rate === undefined ? '' : Math.round(rate * 10) / 10;
  const name = oneLine(queue.queue) + (isPaused ? ' paused' : '');
  return [ready, delayed, running, failedText(queue), wait, perMinute, name];
}

/** `12, 3 in 5 min`: the failures of the last five minutes include jobs that were retried since. */
function failedText({ failed, failures = 0 }: Pick<QueueSnapshot, 'failed' | 'failures'>): Cell {
  if (failures === 0) return failed ?? '';
  return `${failed === undefined ? '' : `${failed}, `}${failures} in 5 min`;
}

function workersText({ workers }: Snapshot): string {
  if (workers === undefined) return 'workers unknown';
  const busy = workers.reduce((sum, worker) => sum + worker.busy, 0);
  const slots = workers.reduce((sum, worker) => sum + worker.concurrency, 0);
  return workers.length === 0 ? 'no workers' : `${counted(workers.length, 'worker')}, ${busy} of ${slots} slots busy`;
}

/** Longest-running first. Those of one class, queue and worker share a line with the one that has run longest. */
function runningLines({ workers = [], at }: Snapshot): readonly string[] {
  const running = workers
    .flatMap(({ name: worker, pid, running }) => running.map((job) => ({ ...job, worker: `${worker}:${pid}` })))
    .toSorted((a, b) => a.since.getTime() - b.since.getTime());
  if (running.length === 0) return [];
  const span = (since: Date): Milliseconds => Math.max(at.getTime() - since.getTime(), 0);
  const alike = groupsOf(running, ({ name, queue, worker }) => JSON.stringify([name, queue, worker])).values();
  const rows = Array.from(alike, (group) => {
    const { name, id, queue, attempt, since, worker } = group[0]!;
    const more = group.length === 1 ? '' : `and ${group.length - 1} more`;
    return [shortSpanText(span(since)), attempt, ...[name, queue, worker, id].map((text) => oneLine(text)), more];
  });
  return formatTable(['for', 'attempt', 'job', 'queue', 'worker', 'id', ''], rows)
    .split('\n')
    .map((line) => `   ${line}`);
}
