/**
 * One connection to a beanstalkd: commands are sent in order, and their replies come back in that order.
 *
 * It is opened once. When it ends, so do all calls under way, and the server takes back the jobs that were reserved on it.
 */
import { connect, type Socket } from 'node:net';
import { within, type Clock, type Milliseconds, type Seconds } from '../../base/clock';
import { inRootContext } from '../application';

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** A line or, as a Buffer, a line with the body of a job and its line ends. */
export type Command = string | Buffer;

/** The connection has ended or was never made: missing answers will not come. */
export class LinkEnded extends Error {
  /** Whether the server may have seen the commands. */
  readonly sent: boolean;

  constructor(cause: Error, sent: boolean) {
    super(cause.message, { cause });
    this.sent = sent;
  }
}

interface Call {
  readonly expected: number;
  readonly replies: Reply[];
  readonly resolve: (replies: readonly Reply[]) => void;
  readonly reject: (error: Error) => void;
  /** When the caller gives up waiting, by the monotonic clock. */
  readonly dueAt: Milliseconds;
}

/** A timer may fire a little early. A call given up then must count as overdue. */
const EARLY: Milliseconds = 5;

const FIRST_TUBE = 'default';
const END = '\r\n';

export class Link {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #reader = new ReplyReader();
  readonly #calls: Call[] = [];
  /** Sent at the end of this turn. */
  readonly #outgoing: Command[] = [];
  readonly #watched = new Set([FIRST_TUBE]);
  #used = FIRST_TUBE;
  #end: Error | undefined;
  #facts: Fields = new Map();
  #over: () => void = () => undefined;
  /** Resolves when it has ended. */
  readonly ended = new Promise<void>((resolve) => (this.#over = resolve));

  private constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    // An idle connection keeps no process alive; the deadline of an unanswered call does.
    socket.unref();
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#finish(error));
    socket.on('close', () => this.#finish(new Error('the connection was closed')));
  }

  /** One attempt. @throws LinkEnded with the system's error, or with silence */
  static async open({ host, port }: Place, clock: Clock, milliseconds: Milliseconds): Promise<Link> {
    const since = clock.monotonic();
    const link = inRootContext(() => new Link(connect({ host, port }), clock));
    try {
      await within(clock, milliseconds, connected(link.#socket));
      link.#facts = fieldsOf((await link.call(['stats'], milliseconds - (clock.monotonic() - since)))[0]!.body);
      if (!link.#facts.has('max-job-size')) throw new Error('it does not answer as a beanstalkd does');
      return link;
    } catch (error) {
      link.close();
      throw new LinkEnded(error instanceof LinkEnded ? (error.cause as Error) : (error as Error), false);
    }
  }

  /** The server's facts from when the connection was made. */
  get facts(): Fields {
    return this.#facts;
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** Some answer is late: the answer to a new call would be later still. */
  get isOverdue(): boolean {
    const now = this.#clock.monotonic();
    return this.#calls.some(({ dueAt }) => dueAt < now);
  }

  /**
   * Sends commands in one go; returns a reply for each. All calls of one turn of the event loop go out together.
   *
   * @throws Silence after `milliseconds`: the replies may still come, or the link ends; LinkEnded
   */
  call(commands: readonly Command[], milliseconds: Milliseconds): Promise<readonly Reply[]> {
    return within(this.#clock, milliseconds, this.ask(commands, milliseconds));
  }

  /** Like `call`, but waits as long as the link lives. After `milliseconds` the link is overdue. @throws LinkEnded */
  ask(commands: readonly Command[], milliseconds: Milliseconds): Promise<readonly Reply[]> {
    if (this.#end !== undefined) return Promise.reject(new LinkEnded(this.#end, false));
    if (commands.length === 0) return Promise.resolve([]);
    const dueAt = this.#clock.monotonic() + milliseconds - EARLY;
    return new Promise((resolve, reject) => {
      this.#calls.push({ expected: commands.length, replies: [], resolve, reject, dueAt });
      if (this.#outgoing.length === 0) process.nextTick(() => this.#flush());
      this.#outgoing.push(...commands);
    });
  }

  /** The commands after which only these tubes are reserved from. Must be sent at once. */
  watch(tubes: readonly string[]): readonly string[] {
    const added = tubes.filter((tube) => !this.#watched.has(tube));
    const left = [...this.#watched].filter((tube) => !tubes.includes(tube));
    for (const tube of added) this.#watched.add(tube);
    for (const tube of left) this.#watched.delete(tube);
    return [...added.map((tube) => `watch ${tube}`), ...left.map((tube) => `ignore ${tube}`)];
  }

  /** The command after which jobs are put into this tube, if one is needed. Must be sent at once. */
  use(tube: string): readonly string[] {
    if (this.#used === tube) return [];
    this.#used = tube;
    return [`use ${tube}`];
  }

  /**
   * Sends no more, but still hears the answers under way: a waiting reserve is answered at once. Then the server ends the
   * link.
   */
  finish(): void {
    this.#socket.end();
  }

  /** Ends it at once: bytes that the other side has not read are lost. */
  close(): void {
    this.#finish(new Error('the connection was closed'));
    this.#socket.resetAndDestroy();
  }

  // One write for all: separate writes would cost more than everything else in a short job.
  #flush(): void {
    const commands = this.#outgoing.splice(0);
    if (commands.every((command) => typeof command === 'string')) {
      this.#socket.write(`${commands.join(END)}${END}`, 'latin1');
    } else {
      const bytes = commands.map((command) => (typeof command === 'string' ? Buffer.from(command + END) : command));
      this.#socket.write(Buffer.concat(bytes));
    }
  }

  #read(chunk: Buffer): void {
    try {
      for (const reply of this.#reader.read(chunk)) {
        const call = this.#calls[0];
        if (call === undefined) throw new Error('it answers what was not asked');
        call.replies.push(reply);
        if (call.replies.length < call.expected) continue;
        this.#calls.shift();
        call.resolve(call.replies);
      }
    } catch (error) {
      this.#finish(error as Error);
      this.#socket.destroy();
    }
  }

  #finish(error: Error): void {
    this.#end ??= error;
    this.#over();
    for (const call of this.#calls.splice(0)) call.reject(new LinkEnded(this.#end, true));
  }
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
  });
}

const MOST_SECONDS = 2 ** 32 - 1;

/** The protocol has only whole seconds: rounded up, so that nothing comes early. */
export const wholeSeconds = (seconds: Seconds): Seconds => Math.min(Math.max(Math.ceil(seconds), 0), MOST_SECONDS);

export interface Put {
  readonly body: Buffer;
  readonly priority: number;
  readonly delay: Seconds;
  readonly lease: Seconds;
}

/**
 * The protocol of beanstalkd: how commands are written and replies read. A reply is a line of words; in some cases a body of
 * a given length follows.
 */
export function putCommand({ body, priority, delay, lease }: Put): Buffer {
  const line = `put ${priority} ${wholeSeconds(delay)} ${Math.max(wholeSeconds(lease), 1)} ${body.length}\r\n`;
  return Buffer.concat([Buffer.from(line), body, Buffer.from('\r\n')]);
}

export interface Reply {
  /** `INSERTED`, `NOT_FOUND`, … */
  readonly word: string;
  readonly args: readonly string[];
  /** Only for `RESERVED`, `FOUND` and `OK`. */
  readonly body: Buffer | undefined;
}

const WITH_BODY = new Set(['RESERVED', 'FOUND', 'OK']);
const LINE_END = '\r\n';
/** No line of a beanstalkd is longer. */
const LONGEST_LINE = 1024;

/** Cuts a stream of bytes into replies, wherever the network split it. */
export class ReplyReader {
  #chunks: Buffer[] = [];
  #length = 0;
  /** Bytes that the first reply needs. Chunks are not joined before that: a long body comes in many chunks. */
  #needed = 1;

  /** @throws Error for bytes that are not a reply of beanstalkd */
  read(chunk: Buffer): readonly Reply[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return [];
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const replies: Reply[] = [];
    let place = 0;
    let missing = 1;
    while (place < bytes.length) {
      const end = bytes.indexOf(LINE_END, place);
      if (end === -1) {
        if (bytes.length - place > LONGEST_LINE) throw new Error('it does not answer as a beanstalkd does');
        break;
      }
      const [word = '', ...args] = bytes.toString('latin1', place, end).split(' ');
      const start = end + LINE_END.length;
      if (!WITH_BODY.has(word)) {
        replies.push({ word, args, body: undefined });
        place = start;
        continue;
      }
      const length = Number(args.at(-1));
      if (!(length >= 0)) throw new Error('it does not answer as a beanstalkd does');
      const next = start + length + LINE_END.length;
      if (bytes.length < next) {
        missing = next - bytes.length;
        break;
      }
      replies.push({ word, args, body: bytes.subarray(start, next - LINE_END.length) });
      place = next;
    }
    const rest = bytes.subarray(place);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    this.#needed = rest.length + missing;
    return replies;
  }
}

/** What the server says about itself, a tube or a job. */
export type Fields = ReadonlyMap<string, string>;

/** The fields of a body like that of `stats`: one `name: value` per line. */
export function fieldsOf(body: Buffer | undefined): Fields {
  const fields = new Map<string, string>();
  for (const line of String(body).split('\n')) {
    const colon = line.indexOf(': ');
    if (colon !== -1) fields.set(line.slice(0, colon), line.slice(colon + 2).replace(/^"(.*)"$/, '$1'));
  }
  return fields;
}

/** How many jobs a tube has, from a reply to `stats-tube`; `total`: all that were ever put into it. */
export type TubeCounts = Record<'ready' | 'delayed' | 'reserved' | 'buried' | 'total', number>;

export function tubeCounts({ body }: Reply): TubeCounts {
  const fields = fieldsOf(body);
  const count = (name: string): number => Number(fields.get(name) ?? 0);
  return {
    ready: count('current-jobs-ready'),
    delayed: count('current-jobs-delayed'),
    reserved: count('current-jobs-reserved'),
    buried: count('current-jobs-buried'),
    total: count('total-jobs'),
  };
}

/** The entries of a body like that of `list-tubes`. */
export function entriesOf(body: Buffer | undefined): readonly string[] {
  const lines = String(body).split('\n');
  return lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2).replace(/^"(.*)"$/, '$1'));
}
