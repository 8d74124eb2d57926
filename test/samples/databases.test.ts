/** A sample is the same program on every server; only the configuration differs. */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInConnectors } from '../../src/connections/built-in';
import { silentLogger } from '../../src/base/logger';
import { QueueManager } from '../../src/application/queue-manager';
import { startBeanstalkd } from '../support/beanstalkd-server';
import { startMariadbServer } from '../support/mariadb-server';
import { startPostgresServer } from '../support/postgres-server';
import { RedisCluster } from '../support/redis-cluster';
import { startRedisServer } from '../support/redis-server';
import { SqsServer } from '../support/sqs-server';
import { Project, requireBuild, root } from '../support/project';

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

async function startCluster(): Promise<Server> {
  const cluster = await RedisCluster.start();
  return { url: cluster.urls[0]!, stop: () => cluster.stop() };
}

async function startSqs(): Promise<Server> {
  const server = await SqsServer.start();
  server.createQueue('welcome-mails');
  return { url: server.prefix, stop: () => server.stop() };
}

/** The AWS SDK warns on older versions of Node.js. */
const QUIET_SDK = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' };

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

const SERVERS: readonly (readonly [name: string, start: () => Promise<Server>, configured: (url: string) => object])[] =
  [
    ['PostgreSQL', startPostgresServer, (url) => ({ connections: { main: { driver: 'database', url } } })],
    ['MariaDB', startMariadbServer, (url) => ({ connections: { main: { driver: 'database', url } } })],
    ['a Redis Cluster', startCluster, (url) => ({ connections: { main: { driver: 'redis', cluster: [url] } } })],
    [
      'Redis, with SQLite for when it is away',
      startRedisServer,
      (url) => ({
        default: 'both',
        connections: {
          main: { driver: 'redis', url },
          spare: { driver: 'database', url: `sqlite:${tmpdir()}/never-opened.sqlite` },
          both: { driver: 'failover', connections: ['main', 'spare'] },
        },
      }),
    ],
    [
      'beanstalkd, with its failed jobs elsewhere',
      startBeanstalkd,
      (url) => ({
        default: 'main',
        failed: 'kept',
        connections: { main: { driver: 'beanstalkd', url }, kept: { driver: 'memory' } },
      }),
    ],
    [
      'SQS, with its failed jobs elsewhere',
      startSqs,
      (prefix) => ({
        default: 'main',
        failed: 'kept',
        connections: {
          main: {
            driver: 'sqs',
            region: 'eu-west-1',
            endpoint: new URL(prefix).origin,
            prefix,
            credentials: CREDENTIALS,
          },
          kept: { driver: 'memory' },
        },
      }),
    ],
  ];

// Concurrent, because they mostly wait for delays.
it.concurrent.each(SERVERS)(
  'the sample welcome-mails on %s sends all mails and leaves nothing behind',
  async (_name, start, configured) => {
    requireBuild();
    const server = await start();
    const project = new Project();
    try {
      const configuration = configured(server.url);
      const manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, configuration);
      await manager.driver().migrations?.run();
      project.linkPackage();
      for (const name of ['nodemailer', 'smtp-server']) project.link(name);
      project.copy(join(root, 'build/samples'), 'samples');
      const program = join('samples', 'welcome-mails', 'main.js');
      const source = readFileSync(join(project.folder, program), 'utf8');
      const settings = JSON.stringify(configuration).slice(1, -1);
      project.write(program, source.replace('.configure({', `.configure({ ${settings},`));

      const { code, stdout, stderr } = await project.run([program], QUIET_SDK);

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(manager.connection().address);
      expect(stdout).toMatch(/got the welcome mail +199\n.* and the follow-up +199\n/);
      expect(await manager.connection('main').size('welcome-mails')).toBe(0);
      await manager.close();
    } finally {
      project.remove();
      await server.stop();
    }
  },
);
