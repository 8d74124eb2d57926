/** What was pushed onto the connections of a fake, in order. */
import { inspect } from 'node:util';
import type { Milliseconds, Seconds } from '../base/clock';
import type { Class, JobDefinition } from '../job/definition';
import { registry } from '../job/registry';
import { decodeEnvelope, decodeJob, type Envelope } from '../payload/envelope';
import type { Entry } from '../connections/contract';

/** One payload as it reached a connection. */
export interface Push {
  /** Empty where the payload has none. */
  readonly id: string;
  /** The job's name; empty where the payload cannot be read. */
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** 0: ready at once. */
  readonly delay: Seconds;
  /** Its fields; none where it cannot be read. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The whole of it, to the byte. */
  readonly text: string;
}

/** One job that was pushed. */
export interface Pushed<J extends object> extends Push {
  /** As a worker would get it: made from the payload, anew for each call. */
  readonly job: J;
}

interface Logged {
  readonly push: Push;
  readonly envelope: Envelope | undefined;
  readonly definition: JobDefinition | undefined;
}

/** A failed assertion should fit on a screen. */
const MOST_LISTED = 20;

export class PushLog {
  readonly #logged: Logged[] = [];

  get pushes(): readonly Push[] {
    return this.#logged.map(({ push }) => push);
  }

  /** Gives a function that takes one of them off again, for when the store refuses it. */
  add(connection: string, queue: string, entries: readonly Entry[], now: Milliseconds): (place: number) => void {
    const added = entries.map((entry) => logged(connection, queue, entry, now));
    this.#logged.push(...added);
    return (place) => void this.#logged.splice(this.#logged.indexOf(added[place]!), 1);
  }

  /** @throws InvalidPayloadError, UnknownClassError: a worker could not make the job either */
  of<J extends object>(target: Class<J>): Pushed<J>[] {
    const name = registry().nameOf(target);
    return this.#logged
      .filter(({ definition }) => definition !== undefined && definition.name === name)
      .map((one) => ({ ...one.push, job: decoded(one) as J }));
  }

  /** For people: what was pushed, a line for each. */
  describe(): string {
    const { length } = this.#logged;
    if (length === 0) return 'Nothing was pushed.';
    const lines = this.#logged.slice(0, MOST_LISTED).map((one, index) => `\n  ${index + 1}. ${line(one)}`);
    const rest = length > MOST_LISTED ? `\n  … and ${length - MOST_LISTED} more` : '';
    return `What was pushed:${lines.join('')}${rest}`;
  }
}

function logged(connection: string, queue: string, entry: Entry, now: Milliseconds): Logged {
  const { payload: text, dueAt } = entry;
  const delay = dueAt === undefined ? (entry.delay ?? 0) : Math.max(0, (dueAt - now) / 1000);
  const envelope = readable(text);
  const definition = envelope?.names.map((known) => registry().find(known)).find((found) => found !== undefined);
  const name = definition?.name ?? envelope?.name ?? '';
  const push = { id: envelope?.id ?? '', name, connection, queue, delay, payload: envelope?.fields ?? {}, text };
  return { push, envelope, definition };
}

function readable(text: string): Envelope | undefined {
  try {
    return decodeEnvelope(Buffer.from(text));
  } catch {
    // A raw push may be anything; a worker would set it aside.
    return undefined;
  }
}

function decoded({ envelope, definition }: Logged): object | undefined {
  return envelope && definition && decodeJob(envelope, definition, registry());
}

function line(one: Logged): string {
  const { queue, connection, delay } = one.push;
  const later = delay > 0 ? `, delayed by ${delay} s` : '';
  return `${shown(one)} on the queue '${queue}' of '${connection}'${later}`;
}

function shown(one: Logged): string {
  const { name, text, payload } = one.push;
  try {
    const job = decoded(one);
    if (job !== undefined) return brief(job);
  } catch (error) {
    return `${name}, whose data cannot be read (${(error as Error).message})`;
  }
  return name === '' ? `the text ${brief(text)}` : `${name} ${brief(payload['data'])}`;
}

function brief(value: unknown): string {
  return inspect(value, { depth: 2, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
}
