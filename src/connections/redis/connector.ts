/** How a socket to Redis comes about. */
import type { Socket } from 'node:net';
import Redis, { type AbstractConnector, type RedisOptions } from 'ioredis';
import { OldServer, serverVersion } from './server-version';

type Connector = NonNullable<RedisOptions['Connector']>;
type Connect = AbstractConnector['connect'];

interface Connecting extends AbstractConnector {
  connect(...given: Parameters<Connect>): ReturnType<Connect>;
  check(info: Readonly<Record<string, string>>): boolean;
}

/**
 * The connector that the options ask for, with sockets that end no process, and none to a server that is too old.
 *
 * ioredis listens for one error of a socket. One over TLS that is ended while it shakes hands has two, and the second,
 * which nobody hears, would be an uncaught exception.
 */
export function heardConnector(options: RedisOptions): Connector {
  // ioredis does not export its own; an instance has one. It connects to nothing.
  const { connector } = new Redis({ ...options, replyMapping: 'legacy', lazyConnect: true }) as unknown as {
    readonly connector: { readonly constructor: new (options: unknown) => Connecting };
  };
  return class extends connector.constructor {
    #socket: Socket | undefined;

    override async connect(...given: Parameters<Connect>): ReturnType<Connect> {
      const stream = await super.connect(...given);
      stream.on('error', () => undefined);
      this.#socket = stream as Socket;
      return stream;
    }

    // ioredis asks for it with each connection, before it sends what waits: a script might be carried out in part.
    override check(info: Readonly<Record<string, string>>): boolean {
      const { found, isOld } = serverVersion((name) => info[name]);
      if (isOld) this.#socket?.destroy(new OldServer(found));
      return !isOld && super.check(info);
    }
  };
}
