/** The `null` driver: takes every job and throws it away, for runs that must not queue anything. */
import { NULL } from './driver';
import type { Diagnosis, Entry } from '../contract';
import { StorelessConnection } from '../kit/connection';

export class NullConnection extends StorelessConnection {
  readonly driver = 'null';
  readonly address = 'nowhere';
  readonly capabilities = NULL.capabilities;

  async push(_queue: string, _entries: readonly Entry[]): Promise<void> {
    this.checkOpen('push');
  }

  async diagnose(): Promise<readonly Diagnosis[]> {
    this.checkOpen('diagnose');
    return [{ level: 'warning', subject: 'null', message: 'Every job is thrown away.' }];
  }

  protected async end(): Promise<void> {}
}
