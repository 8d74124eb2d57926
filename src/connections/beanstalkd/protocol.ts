/**
 * The protocol of beanstalkd: how commands are written and replies read. A reply is a line of words; in some cases a body of
 * a given length follows.
 */
import type { Seconds } from '../../base/clock';

const MOST_SECONDS = 2 ** 32 - 1;

/** The protocol has only whole seconds: rounded up, so that nothing comes early. */
export const wholeSeconds = (seconds: Seconds): Seconds => Math.min(Math.max(Math.ceil(seconds), 0), MOST_SECONDS);

export interface Put {
  readonly body: Buffer;
  readonly priority: number;
  readonly delay: Seconds;
  readonly lease: Seconds;
}

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
      const next = start + Number(args.at(-1)) + LINE_END.length;
      if (Number.isNaN(next)) throw new Error('it does not answer as a beanstalkd does');
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
