/**
 * Occasional calls that change something, those of one queue one after another under one name. Under names of their own,
 * each would leave a record in Redis for an hour: for example, one for each retried job.
 */
import { Recent } from '../../base/recent';
import type { RedisCaller } from './caller';
import type { Keys, QueueKey, QueueKeys } from './keys';
import { Lane, type Waiting } from './lane';
import type { ScriptName } from './scripts';

/** A queue that returns after this many others starts a new record. */
const MOST_QUEUES = 1000;

interface RecordedCall {
  readonly script: ScriptName;
  /** The keys of the queue, after that of the record. */
  readonly keys: readonly QueueKey[];
  /** The keys after those. */
  readonly others?: readonly string[];
  readonly args?: readonly (string | number | Buffer)[];
  /** What a failure means to the caller, as a clause: `queue 'mail' was not cleared`. */
  readonly consequence: string;
}

interface AskedCall extends RecordedCall, Waiting {
  readonly resolve: (reply: readonly unknown[]) => void;
}

export class RecordedCalls {
  readonly #caller: RedisCaller;
  readonly #keys: Keys;
  /** One lane per queue: in a cluster, the lane of a silent master holds up no other. */
  readonly #lanes = new Recent<string, RecordedLane>(MOST_QUEUES, (lane) => lane.isIdle);

  constructor(caller: RedisCaller, keys: Keys) {
    this.#caller = caller;
    this.#keys = keys;
  }

  /** Returns the script's answer. @throws what `RedisCaller.script` throws */
  ask(queue: string, call: RecordedCall): Promise<readonly unknown[]> {
    return this.#lanes.ensure(queue, () => new RecordedLane(this.#caller, this.#keys.queue(queue))).ask(call);
  }
}

class RecordedLane extends Lane<AskedCall> {
  readonly #keys: QueueKeys;

  constructor(caller: RedisCaller, keys: QueueKeys) {
    super(caller);
    this.#keys = keys;
  }

  ask(call: RecordedCall): Promise<readonly unknown[]> {
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.enqueue({ ...call, since, jobs: 1, bytes: 0, isSingle: true, resolve, reject });
    });
  }

  protected async carry(calls: readonly AskedCall[], sequence: number): Promise<void> {
    const { script, keys, others = [], args = [], consequence, resolve } = calls[0]!;
    const all = [this.#keys.client(this.id), ...keys.map((key) => this.#keys[key]), ...others];
    const patience = { consequence, since: this.waitingSince(calls) };
    resolve(await this.caller.script(script, all, [sequence, ...args], patience));
  }
}
