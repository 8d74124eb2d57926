/** `monitor`: the queues and the running jobs; on a terminal redrawn, with keys to look into queues, and to sort and pause them. */
import type { QueueManager } from '../../application/queue-manager';
import type { Clock } from '../../base/clock';
import { hasColors } from '../../base/logger';
import { oneLine } from '../../base/text';
import { shortSpanText } from '../../base/span';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { type QueueSnapshot, type Snapshot, totalsOf } from '../../operations/snapshot';
import { defineCommand } from '../command';
import { errorText } from '../errors';
import { CONNECTION, count, namesIn } from '../flags';
import { LiveScreen, type Scene } from '../live-screen';
import { openConnection } from '../named-queues';
import { type Cell, counted, formatTable, momentText } from '../output';
import { lookInto, type QueueLook, runningLines } from '../queue-look';
import { TREND, Trends } from '../trends';

export const monitor = defineCommand({
  name: 'monitor',
  summary: 'show the queues and running jobs, live on a terminal',
  description:
    'On a terminal it is redrawn every two seconds: up and down select a queue, enter shows why its jobs failed, what runs and what ' +
    'comes next (escape leads back), p pauses or resumes it (or all shown queues if none is selected), s sorts, and q quits. ' +
    'Elsewhere, and with --json, it prints once.',
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
    const { manager, connection } = await openConnection(call);
    const queues = words[0] === undefined ? undefined : namesIn(words[0], 'queue');
    const { stdout, onKeys } = session.surroundings;
    let snapshot: Snapshot | undefined;
    if (onKeys !== undefined && stdout.isTTY === true && !output.isJson) {
      const scene = new QueueMonitor(manager, connection, queues, max, session.surroundings.clock);
      const screen = new LiveScreen(session.surroundings, scene);
      scene.wake = () => screen.wake();
      await screen.run(onKeys);
      snapshot = scene.snapshot;
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

const UP = ['\u001B[A', '\u001BOA', 'k'];
const DOWN = ['\u001B[B', '\u001BOB', 'j'];
const OPEN = ['\r', '\n', '\u001B[C', '\u001BOC'];
const BACK = ['\u001B', '\u007F', '\u001B[D', '\u001BOD'];

/** What the queues may be sorted by; all but their names from the greatest down. */
const ORDERS: Readonly<Record<string, (queue: QueueSnapshot) => number>> = {
  name: () => 0,
  ready: ({ ready }) => ready,
  // Those that fail now, before those that have failed once.
  failed: ({ failures = 0, failed = 0 }) => failures + failed / 1e9,
  wait: ({ oldestWait = 0 }) => oldestWait,
  '/min': ({ rate = 0 }) => rate,
};

/** The queues on a terminal, or what is in one of them, with keys to choose, sort and pause. */
class QueueMonitor implements Scene {
  readonly #manager: QueueManager;
  readonly #connection: QueueConnection;
  readonly #queues: readonly string[] | undefined;
  readonly #max: number;
  readonly #trends: Trends;
  #snapshot: Snapshot | undefined;
  #selected: string | undefined;
  #order = 'name';
  /** The queue that somebody looks into, and what was found there. */
  #opened: { readonly queue: string; readonly look?: QueueLook } | undefined;
  /** The last action, or why it failed. */
  #remark = '';
  /** Pausing all queues needs a second `p`. */
  #isAsked = false;
  /** Set by the screen: looks again at once. */
  wake: () => void = () => undefined;

  /** @param queues undefined: all that were ever used */
  constructor(
    manager: QueueManager,
    connection: QueueConnection,
    queues: readonly string[] | undefined,
    max: number,
    clock: Clock,
  ) {
    this.#manager = manager;
    this.#connection = connection;
    this.#queues = queues;
    this.#max = max;
    this.#trends = new Trends(connection, clock);
  }

  /** The last one shown. */
  get snapshot(): Snapshot | undefined {
    return this.#snapshot;
  }

  get remark(): string {
    return this.#remark;
  }

  get keys(): string {
    const pause = `q: quit   p: pause or resume ${this.#opened?.queue ?? this.#selected ?? 'all'}`;
    return this.#opened === undefined
      ? `${pause}   s: sorted by ${this.#order}   up, down: choose   enter: look into it`
      : `${pause}   escape: all queues`;
  }

  async look(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) {
      const snapshot = await this.#connection.snapshot({ queues: this.#queues });
      await this.#trends.look();
      this.#snapshot = { ...snapshot, queues: snapshot.queues.toSorted(this.#compare) };
    } else {
      const look = await lookInto(this.#manager, this.#connection, opened.queue);
      // Somebody may have gone back meanwhile.
      if (this.#opened?.queue === opened.queue) this.#opened = { ...opened, look };
    }
  }

  readonly #compare = (a: QueueSnapshot, b: QueueSnapshot): number => {
    const of = ORDERS[this.#order]!;
    return of(b) - of(a) || (a.queue < b.queue ? -1 : 1);
  };

  press(key: string): void {
    const wasAsked = this.#isAsked;
    this.#isAsked = false;
    this.#remark = '';
    if (key === 'p') this.#togglePause(wasAsked);
    else if (this.#opened !== undefined) this.#close(key);
    else if (key === 's') this.#sort();
    else if (DOWN.includes(key)) this.#select(1);
    else if (UP.includes(key)) this.#select(-1);
    else if (OPEN.includes(key)) this.#open();
  }

  #open(): void {
    if (this.#selected === undefined) this.#remark = 'Choose a queue first, with up and down.';
    else this.#opened = { queue: this.#selected };
    this.wake();
  }

  #close(key: string): void {
    if (!BACK.includes(key)) return;
    this.#opened = undefined;
    this.wake();
  }

  #sort(): void {
    const names = Object.keys(ORDERS);
    this.#order = names[(names.indexOf(this.#order) + 1) % names.length]!;
    if (this.#snapshot === undefined) return;
    this.#snapshot = { ...this.#snapshot, queues: this.#snapshot.queues.toSorted(this.#compare) };
  }

  /** One step before the first queue, or after the last one, selects none. */
  #select(step: number): void {
    const names = [undefined, ...(this.#snapshot?.queues ?? []).map(({ queue }) => queue)];
    const place = names.indexOf(this.#selected);
    this.#selected = names[(place + step + names.length) % names.length];
  }

  #togglePause(isConfirmed: boolean): void {
    const shown = (this.#opened === undefined ? this.#snapshot : this.#opened.look?.snapshot)?.queues ?? [];
    const one = this.#opened?.queue ?? this.#selected;
    const meant = one === undefined ? shown : shown.filter(({ queue }) => queue === one);
    if (meant.length === 0) return;
    const isPause = meant.some(({ isPaused }) => !isPaused);
    const what = one ?? counted(meant.length, 'queue');
    if (one === undefined && !isConfirmed) {
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
    this.wake();
  }

  body(room: number, columns: number): readonly string[] {
    const isColored = hasColors({ isTTY: true, write: () => undefined });
    if (this.#opened !== undefined)
      return this.#opened.look?.lines(columns, isColored) ?? [this.#opened.queue, '', '…'];
    if (this.#snapshot === undefined) return ['…'];
    const { summary, queues, running } = snapshotTexts(this.#snapshot, this.#max, {
      selected: this.#selected,
      trends: columns < ROOM_FOR_TRENDS ? undefined : this.#trends.of,
      columns,
      isColored,
    });
    const [headings = '', ...rows] = queues;
    // Running jobs get a third of the room if there are more queues than fit.
    const forRunning = Math.min(running.length, Math.max(Math.floor(room / 3), room - rows.length - 4));
    const shown = window(
      rows,
      this.#snapshot.queues.findIndex(({ queue }) => queue === this.#selected),
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

/** From this width on, names of queues have room beside the bars. */
const ROOM_FOR_TRENDS = 90;

interface Look {
  readonly selected?: string | undefined;
  /** How a queue went of late. */
  readonly trends?: ((queue: string) => string) | undefined;
  readonly columns?: number;
  readonly isColored?: boolean;
}

/** Marks queues with more than `max` ready jobs, and the one that keys act on. The lists begin with their headings. */
export function snapshotTexts(snapshot: Snapshot, max: number, { selected, trends, columns, isColored }: Look = {}) {
  const { connection, at, isExact, queues } = snapshot;
  const long = crowded(snapshot, max);
  const marks = queues.map((queue) => (queue.queue === selected ? '>' : ' ') + (long.includes(queue) ? '!' : ' '));
  const estimate = isExact ? [] : ['estimated'];
  const trend = (queue: string): Cell[] => (trends === undefined ? [] : [trends(queue)]);
  const all = [...queues.map((queue) => rowOf(queue, trend(queue.queue))), ...totalRows(queues, trend(''))];
  const headings = trends === undefined ? HEADINGS : HEADINGS.toSpliced(-1, 0, TREND);
  return {
    summary: [connection, momentText(at), workersText(snapshot), ...estimate].join('   '),
    queues: formatTable(headings, all, (columns ?? Infinity) - MARKS, isColored)
      .split('\n')
      .map((line, row) => `${marks[row - 1] ?? '  '} ${line}`),
    running: runningLines(snapshot, columns),
  };
}

/** The width of what is written before each row. */
const MARKS = 3;

/** The queues with more than `max` ready jobs. */
function crowded({ queues }: Snapshot, max: number): readonly QueueSnapshot[] {
  return queues.filter(({ ready }) => ready > max);
}

/** A last row, if there are several queues. */
function totalRows(queues: readonly QueueSnapshot[], trend: readonly Cell[]): readonly (readonly Cell[])[] {
  if (queues.length < 2) return [];
  const totals = totalsOf(queues);
  const { ready, delayed, running, rate } = totals;
  const perMinute = Math.round(rate * 10) / 10;
  return [[ready, delayed, running, failedText(totals), '', perMinute, ...trend, `all ${queues.length}`]];
}

function rowOf(queue: QueueSnapshot, trend: readonly Cell[]): Cell[] {
  const { ready, delayed, running, oldestWait, rate, isPaused } = queue;
  const wait = oldestWait === undefined ? '' : shortSpanText(oldestWait * 1000);
  const perMinute = rate === undefined ? '' : Math.round(rate * 10) / 10;
  const name = isPaused ? ({ text: `${oneLine(queue.queue)} paused`, tone: 'warning' } as const) : oneLine(queue.queue);
  return [ready, delayed, running, failedText(queue), wait, perMinute, ...trend, name];
}

/** `12, 3 in 5 min`: the failures of the last five minutes include jobs that were retried since. */
function failedText({ failed, failures = 0 }: Pick<QueueSnapshot, 'failed' | 'failures'>): Cell {
  if (failures === 0) return failed ?? '';
  return { text: `${failed === undefined ? '' : `${failed}, `}${failures} in 5 min`, tone: 'bad' };
}

function workersText({ workers }: Snapshot): string {
  if (workers === undefined) return 'workers unknown';
  const busy = workers.reduce((sum, worker) => sum + worker.busy, 0);
  const slots = workers.reduce((sum, worker) => sum + worker.concurrency, 0);
  return workers.length === 0 ? 'no workers' : `${counted(workers.length, 'worker')}, ${busy} of ${slots} slots busy`;
}
