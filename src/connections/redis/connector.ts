/** How a socket to Redis comes about. */
import Redis, { type AbstractConnector, type RedisOptions } from 'ioredis';

type Connector = NonNullable<RedisOptions['Connector']>;
type Connect = AbstractConnector['connect'];

interface Connecting extends AbstractConnector {
  connect(...given: Parameters<Connect>): ReturnType<Connect>;
}

/**
 * The connector that the options ask for, with sockets that end no process.
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
    override async connect(...given: Parameters<Connect>): ReturnType<Connect> {
      const stream = await super.connect(...given);
      stream.on('error', () => undefined);
      return stream;
    }
  };
}
