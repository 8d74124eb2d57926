/** The tube names of queues. */
import { tubeName } from './errors';

const NAME = /^[A-Za-z0-9+/;.$_()][A-Za-z0-9+/;.$_()-]{0,199}$/;

export class Tubes {
  readonly #connection: string;
  readonly #prefix: string;

  constructor(connection: string, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
  }

  /** @throws E_BEANSTALKD_TUBE_NAME */
  of(queue: string): string {
    const tube = this.#prefix + queue;
    if (!NAME.test(tube)) throw tubeName(this.#connection, queue, tube);
    return tube;
  }

  /** Undefined if it is not one of ours. */
  queueOf(tube: string): string | undefined {
    return tube.startsWith(this.#prefix) ? tube.slice(this.#prefix.length) : undefined;
  }
}
