/** The `null` driver: takes every job and throws it away, for runs in which nothing may be queued. */
import type { NullConfig } from '../configs';
import type { Capabilities, Diagnosis, Entry } from '../contract';
import { STORELESS, StorelessConnection } from '../kit/storeless-connection';

const CAPABILITIES: Capabilities = { ...STORELESS, delay: true, clear: true, peek: true };

export class NullConnection extends StorelessConnection {
  readonly driver = 'null';
  readonly address = 'nowhere';
  readonly capabilities = CAPABILITIES;

  async push(_queue: string, _entries: readonly Entry[]): Promise<void> {
    this.checkOpen('push');
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    return [{ level: 'warning', subject: 'null', message: 'Every job is thrown away.' }];
  }

  protected async end(): Promise<void> {}
}

export function connectNull(_config: NullConfig, context: { readonly name: string }): NullConnection {
  return new NullConnection(context.name);
}
