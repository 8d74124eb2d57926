/** The store of a program that configured none: Redis if the environment names one, otherwise a SQLite file. */
import { join } from 'node:path';
import type { Logger } from '../../base/logger';
import type { Configuration } from './configuration';

export interface ImplicitStore {
  readonly connections: NonNullable<Configuration['connections']>;
  /** For people: where it came from. */
  readonly source: string;
  /** A clause that says where an address came from that no file contains. */
  readonly origin?: string | undefined;
  /** The log line that names, once, a store that nobody chose. */
  readonly notice?: string | undefined;
}

/** @param root the project's folder, not the working folder: worker and program may be started in different ones */
export function implicitStore(root: string, variables: Readonly<NodeJS.ProcessEnv>): ImplicitStore {
  const url = variables['REDIS_URL'];
  if (url !== undefined && url !== '') {
    return {
      connections: { redis: { driver: 'redis', url } },
      source: 'REDIS_URL',
      origin: 'REDIS_URL came from the environment',
    };
  }
  const path = join(root, 'onqueue.sqlite');
  return {
    connections: { database: { driver: 'database', url: `sqlite:${path}` } },
    source: 'the default, a SQLite file',
    notice: `No connection is configured and REDIS_URL is not set: jobs are kept in ${path}.`,
  };
}

const named = new Set<string>();

/** Logs the notice once for each process; in production as a warning. */
export function nameStore(notice: string, logger: Logger, { NODE_ENV }: Readonly<NodeJS.ProcessEnv>): void {
  const level = NODE_ENV === 'production' ? 'warn' : 'info';
  if (named.has(level + notice)) return;
  named.add(level + notice);
  logger[level]({}, notice);
}
