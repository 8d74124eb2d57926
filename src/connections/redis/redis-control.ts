/** Orders to the workers of a Redis: kept in hashes and a sorted set, in a cluster in some of each queue's own. */
import type { Milliseconds, Seconds } from '../../base/clock';
import { readId } from '../../payload/counters';
import { uuidv7 } from '../../payload/uuid';
import type { Reservation } from '../contract';
import type { CancelResult, Control } from '../control';
import { type Pause, pauseOf } from '../pause';
import type { RedisCaller } from './caller';
import type { Keys } from './keys';
import type { QueueNames } from './queue-names';
import { RecordedCalls } from './recorded-calls';

/** Where not all could be looked at: `mark` the id, or `leave` it, to be marked once the other queues were looked at. */
type Resort = 'mark' | 'leave';

export class RedisControl implements Control {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  readonly #names: QueueNames;
  readonly #ordered: QueueNames | undefined;
  readonly #checkOpen: (operation: string) => void;
  readonly #time: () => Promise<Milliseconds>;
  readonly #calls: RecordedCalls;

  /**
   * @param ordered in a cluster: the queues whose workers hear of orders
   * @param time asks the store for it
   */
  constructor(
    caller: RedisCaller,
    keys: Keys,
    names: QueueNames,
    ordered: QueueNames | undefined,
    checkOpen: (operation: string) => void,
    time: () => Promise<Milliseconds>,
  ) {
    this.#caller = caller;
    this.#keys = keys;
    this.#names = names;
    this.#ordered = ordered;
    this.#checkOpen = checkOpen;
    this.#time = time;
    this.#calls = new RecordedCalls(caller);
  }

  async cancel(id: string, queue?: string, reason = ''): Promise<CancelResult> {
    this.#checkOpen('control.cancel');
    const unseen: string[] = [];
    for (const name of queue === undefined ? await this.#names.all() : [queue]) {
      const result = await this.#look(id, name, 'leave', reason);
      if (result === 'unseen') unseen.push(name);
      else if (result !== 'unknown') return result;
    }
    const marked = new Set<string>();
    for (const name of unseen) {
      const result = await this.#look(id, name, 'mark', reason);
      const { cancelled } = this.#keys.queue(name);
      if (result === 'marked') marked.add(cancelled);
      if (result !== 'removed' && result !== 'signalled') continue;
      // It came into sight meanwhile: what was marked on the way would end a later job of its id.
      if (result === 'signalled') marked.delete(cancelled);
      for (const key of marked) await this.#command('zrem', [key, id], `the mark of job ${id} was not taken back`);
      return result;
    }
    return marked.size > 0 ? 'marked' : 'unknown';
  }

  async cancelled(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]> {
    this.#checkOpen('control.cancelled');
    const places = new Map<string, number[]>();
    for (const [place, { queue }] of reservations.entries()) {
      const { cancelled } = this.#keys.queue(queue);
      places.set(cancelled, [...(places.get(cancelled) ?? []), place]);
    }
    const consequence = 'no cancelled job was told';
    const idAt = (place: number): string => readId(reservations[place]!.payload) ?? '';
    const answers: (boolean | string)[] = [];
    for (const [key, of] of places) {
      const scores = await this.#caller.glance('zmscore', [key, ...of.map(idAt)], consequence);
      for (const [index, place] of of.entries()) answers[place] = (scores as readonly unknown[])[index] !== null;
      const ending = of.filter((place) => answers[place] === true);
      if (ending.length === 0) continue;
      const { reasons } = this.#keys.queue(reservations[ending[0]!]!.queue);
      const told = await this.#caller.glance('hmget', [reasons, ...ending.map(idAt)], consequence);
      for (const [index, place] of ending.entries()) {
        answers[place] = String((told as readonly (Buffer | null)[])[index] ?? '') || true;
      }
    }
    return answers;
  }

  async pause(queue: string, seconds?: Seconds): Promise<boolean> {
    this.#checkOpen('control.pause');
    const { client, control, ready } = this.#keys.queue(queue);
    // Otherwise nobody would find its hash again.
    await this.#ordered?.add(queue);
    const consequence = `queue '${queue}' was not paused`;
    const [word] = await this.#calls.ask({
      script: 'pause',
      client,
      keys: [control, ready],
      args: [queue, seconds ?? 'ever'],
      consequence,
    });
    return String(word) === 'paused';
  }

  async resume(queue: string): Promise<boolean> {
    this.#checkOpen('control.resume');
    const { client, control, ready, delayed, notify } = this.#keys.queue(queue);
    const keys = [control, ready, delayed, notify];
    const consequence = `queue '${queue}' was not resumed`;
    const [word] = await this.#calls.ask({ script: 'resume', client, keys, args: [], consequence });
    return String(word) === 'resumed';
  }

  async paused(): Promise<readonly Pause[]> {
    this.#checkOpen('control.paused');
    const pauses: Pause[] = [];
    for (const key of await this.#controls()) {
      // ioredis makes an object of this answer alone.
      const orders = (await this.#command('hgetall', [key], 'the paused queues were not read')) as Record<
        string,
        Buffer
      >;
      for (const [field, name] of Object.entries(orders)) {
        if (!field.startsWith('paused:')) continue;
        const end = orders[field.replace('paused:', 'until:')];
        pauses.push(pauseOf(String(name), end === undefined ? Infinity : Number(end) * 1000));
      }
    }
    // Without another call where, as nearly always, none has an end.
    const now = pauses.some(({ until }) => until !== undefined) ? await this.#time() : 0;
    const lasting = pauses.filter(({ until = Infinity }) => until > now);
    return lasting.toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  }

  async restart(): Promise<void> {
    this.#checkOpen('control.restart');
    const token = uuidv7();
    for (const key of await this.#controls()) {
      await this.#command('hset', [key, 'restart', token], 'not all workers were told to start anew');
    }
  }

  async #controls(): Promise<readonly string[]> {
    if (this.#ordered === undefined) return [this.#keys.control];
    return (await this.#ordered.all()).map((queue) => this.#keys.queue(queue).control);
  }

  async #look(id: string, queue: string, resort: Resort, reason: string): Promise<CancelResult | 'unseen'> {
    const { client, ready, delayed, reserved, cancelled, reasons } = this.#keys.queue(queue);
    const keys = [ready, delayed, reserved, cancelled, reasons];
    const consequence = `job ${id} was not cancelled`;
    const [word] = await this.#calls.ask({ script: 'cancel', client, keys, args: [id, resort, reason], consequence });
    return String(word) as CancelResult | 'unseen';
  }

  #command(command: string, args: readonly string[], consequence: string): Promise<unknown> {
    return this.#caller.command(command, args, { consequence });
  }
}
