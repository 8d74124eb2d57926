/**
 * Calls that change something now and then, one after another under one name. Each under a name of its own would leave a
 * record in Redis for an hour: one for each job that is sent back.
 */
import type { Milliseconds } from '../../base/clock';
import { Lane } from './lane';
import { script, type ScriptName } from './scripts';

type Argument = string | number | Buffer;

export interface RecordedCall {
  readonly script: ScriptName;
  /** The key of the record of a client of this name. */
  readonly client: (id: string) => string;
  /** Those after it. */
  readonly keys: readonly string[];
  readonly args: readonly Argument[];
  /** What a failure means to the caller, as a clause: `queue 'mail' was not cleared`. */
  readonly consequence: string;
}

interface Waiting extends RecordedCall {
  readonly since: Milliseconds;
  readonly resolve: (reply: readonly unknown[]) => void;
  reject(error: unknown): void;
}

export class RecordedCalls extends Lane<Waiting> {
  /** What the script answers. @throws what `RedisCaller.script` throws */
  ask(call: RecordedCall): Promise<readonly unknown[]> {
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.enqueue({ ...call, since, resolve, reject });
    });
  }

  protected fitting(): number {
    return 1;
  }

  protected async carry(calls: readonly Waiting[], sequence: number): Promise<void> {
    const { script: name, client, keys, args, consequence, resolve } = calls[0]!;
    const all = [client(this.id), ...keys];
    const patience = { consequence, since: this.waitingSince(calls) };
    resolve(await this.caller.script(script(name), all, [sequence, ...args], patience));
  }
}
