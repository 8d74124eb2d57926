/** Tells the hooks that a worker starts, has nothing to do, and has stopped. */
import { callFrom } from '../container/scope';
import type { HookEvents } from '../application/hooks/events';
import type { Application } from '../application/application';
import type { Shutdown } from './shutdown';

export interface PresenceSettings {
  readonly application: Application;
  /** The worker, which waits for its hooks: one that stops it is not to wait for that. */
  readonly caller: object;
  readonly event: { readonly connectionName: string; readonly queue: string };
  readonly shutdown: Shutdown;
}

export class Presence {
  readonly #settings: PresenceSettings;
  /** How many jobs it had started when it was last told to be idle. */
  #idleAfter: number | undefined;

  constructor(settings: PresenceSettings) {
    this.#settings = settings;
  }

  starting(): Promise<void> | undefined {
    return this.#tell('starting', this.#settings.event);
  }

  stopping(reason: string): Promise<void> | undefined {
    return this.#tell('stopping', { connectionName: this.#settings.event.connectionName, reason });
  }

  /** Once for each time that jobs have run out; nobody waits for it. */
  idle(started: number): void {
    const { application, caller, event } = this.#settings;
    if (started === this.#idleAfter) return;
    this.#idleAfter = started;
    void callFrom(caller, () => application.hooks.emit('idle', event));
  }

  #tell<Name extends 'starting' | 'stopping'>(name: Name, event: HookEvents[Name]): Promise<void> | undefined {
    const { application, caller, shutdown } = this.#settings;
    const told = callFrom(caller, () => application.hooks.emit(name, event));
    return told && shutdown.within(told);
  }
}
