/** The jobs of a memory store that hold unique keys or wait under debounce keys. */
import type { Milliseconds, Seconds } from '../../base/clock';
import { isTakenBack, readTies, type TiedJob } from '../../payload/ties';
import { bytesOf, type Text } from './texts';

export interface Holder {
  readonly id: string;
  /** From then on another job may take it. For a debounced job: it can be put off until then. */
  readonly until: Milliseconds;
  /** How a debounced job waits. */
  readonly waits?: { readonly text: Text; readonly due: Seconds };
}

export class UniqueKeys {
  readonly #holders = new Map<string, Holder>();

  /** Takes the key. Undefined if this job holds it now, or has none. Otherwise the id of the holder. */
  take(tied: TiedJob, now: Milliseconds): string | undefined {
    const holder = tied.unique && this.#holderOf(tied.unique.key, now);
    if (holder === undefined) this.#hold(tied, now);
    return holder;
  }

  get(key: string): Holder | undefined {
    return this.#holders.get(key);
  }

  /** Sets the job that waits under this key. Undefined if none does. */
  set(key: string, holder: Holder | undefined): void {
    if (holder === undefined) this.#holders.delete(key);
    else this.#holders.set(key, holder);
  }

  /** The job was not started after all. */
  retake(text: Text, now: Milliseconds): void {
    const tied = readTies(bytesOf(text));
    if (tied?.unique?.until === 'start' && this.#holderOf(tied.unique.key, now) === undefined) this.#hold(tied, now);
  }

  /** A job that was given back is handed out: it may have given up a key that it is to hold until its end. */
  takeBack(text: Text, now: Milliseconds): void {
    const tied = readTies(bytesOf(text));
    if (tied !== undefined && isTakenBack(tied.unique)) this.take(tied, now);
  }

  /** The job is handed to a worker. */
  start(text: Text): void {
    this.#leave(text, 'start');
  }

  /** The job has ended. */
  leave(text: Text): void {
    this.#leave(text, undefined);
  }

  snapshot(): ReadonlyMap<string, Holder> {
    return new Map(this.#holders);
  }

  #leave(text: Text, until: 'start' | undefined): void {
    if (this.#holders.size === 0) return;
    const { id, unique, debounce } = readTies(bytesOf(text)) ?? {};
    if (until !== undefined && unique?.until === 'end') return;
    const key = unique?.key ?? debounce?.key;
    if (key !== undefined && this.#holders.get(key)?.id === id) this.#holders.delete(key);
  }

  #holderOf(key: string, now: Milliseconds): string | undefined {
    const holder = this.#holders.get(key);
    return holder !== undefined && holder.until > now ? holder.id : undefined;
  }

  #hold({ id, unique }: TiedJob, now: Milliseconds): void {
    if (unique === undefined) return;
    const { key, for: most = Infinity } = unique;
    this.#holders.set(key, { id, until: now + most * 1000 });
  }
}
