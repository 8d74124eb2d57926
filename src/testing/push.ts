/** One pushed job, for tests. */
import { valueText } from '../base/text';
import type { Milliseconds, Seconds } from '../base/clock';
import type { Entry } from '../connections/contract';
import { StartBatch } from '../dispatch/batch/send-batch';
import { registry, type JobDefinition } from '../job/registry';
import type { ChainLink } from '../payload/chain';
import { decodeJob, envelopeIn, type Envelope } from '../payload/envelope';

/** One payload as it reached a connection. */
export interface Push {
  /** Empty if the payload has none. */
  readonly id: string;
  /** The job's name. Empty if the payload cannot be read. */
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
  /** 0: ready at once. */
  readonly delay: Seconds;
  /** The payload's fields. Empty if it cannot be read. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** The whole payload, unchanged. */
  readonly text: string;
}

/** A job that was pushed, or will be. */
export interface Pushed<J extends object> extends Push {
  /** The job as a worker would get it, made anew from the payload for each call. */
  readonly job: J;
}

/** The jobs of a class, or, if it listens, the events sent to it. */
export type Sent<J extends object> =
  | J
  | (J extends { readonly handle: (event: infer E extends object, ...injected: never[]) => unknown } ? E : never);

/** A job that follows another. */
export interface NextJob extends Push {
  /** The job as a worker would get it. Undefined if its class is not registered here. */
  readonly job: object | undefined;
}

export class ReadPush {
  readonly push: Push;
  readonly definition: JobDefinition | undefined;
  readonly #envelope: Envelope | undefined;
  readonly #now: Milliseconds;

  constructor(connection: string, queue: string, entry: Entry, now: Milliseconds) {
    const { payload: text, dueAt } = entry;
    const delay = dueAt === undefined ? (entry.delay ?? 0) : Math.max(0, (dueAt - now) / 1000);
    // A raw push may be anything; a worker would set it aside.
    const envelope = envelopeIn(Buffer.from(text));
    this.#envelope = envelope;
    this.#now = now;
    this.definition = envelope?.definitionIn(registry());
    const name = this.definition?.name ?? envelope?.name ?? '';
    this.push = { id: envelope?.id ?? '', name, connection, queue, delay, payload: envelope?.fields ?? {}, text };
  }

  static ofLink(link: ChainLink, from: string, now: Milliseconds): ReadPush {
    return new ReadPush(link.connection ?? from, link.queue, link, now);
  }

  /**
   * The job as a worker would get it. Undefined if its class is not registered here. @throws InvalidPayloadError,
   * UnknownClassError
   */
  get job(): object | undefined {
    return this.#envelope && this.definition && decodeJob(this.#envelope, this.definition, registry(), {});
  }

  get next(): NextJob {
    return { ...this.push, job: this.job };
  }

  /** The jobs that travel in it: the rest of its chain, in order. */
  get links(): readonly ReadPush[] {
    return (this.#envelope?.chain.links ?? []).map((link) => this.#linked(link));
  }

  get caught(): ReadPush | undefined {
    const caught = this.#envelope?.chain.caught;
    return caught && this.#linked(caught);
  }

  /** The jobs of a batch that is a link. */
  get members(): readonly ReadPush[] | undefined {
    const { job } = this;
    if (!(job instanceof StartBatch)) return undefined;
    const { jobs, place } = job.plan;
    return jobs.map(({ queue, entry }) => new ReadPush(place.connection, queue, entry, this.#now));
  }

  /** For people. */
  describe(): string {
    const { queue, connection, delay } = this.push;
    const later = delay > 0 ? `, delayed by ${delay} s` : '';
    const links = this.links.map((link) => `\n     then ${link.#onQueue()}`).join('');
    const caught = this.caught === undefined ? '' : `\n     if one fails ${this.caught.#onQueue()}`;
    return `${this.shown} on the queue '${queue}' of '${connection}'${later}${links}${caught}`;
  }

  #onQueue(): string {
    return `${this.shown} on '${this.push.queue}' of '${this.push.connection}'`;
  }

  #linked(link: ChainLink): ReadPush {
    return ReadPush.ofLink(link, this.push.connection, this.#now);
  }

  /** Its class and data, in one line. */
  get shown(): string {
    const { name, text, payload } = this.push;
    try {
      const { job, members } = this;
      if (members !== undefined) return `a batch of ${members.map((member) => member.shown).join(', ') || 'no jobs'}`;
      if (job !== undefined) return valueText(job, 2);
    } catch (error) {
      return `${name}, whose data cannot be read (${(error as Error).message})`;
    }
    return name === '' ? `the string ${valueText(text)}` : `${name} ${valueText(payload['data'], 2)}`;
  }
}
