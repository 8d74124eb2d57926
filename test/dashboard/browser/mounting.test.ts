/** The dashboard in programs on real frameworks, mounted as in docs/dashboard.md. */
import 'reflect-metadata';
import { createServer, request as ask, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import fastify from 'fastify';
import helmet from 'helmet';
import { Hono } from 'hono';
import type { QueueManager } from '../../../src/application/queue-manager';
import { dashboard } from '../../../src/dashboard';
import { Job } from '../../../src/job/job';
import { testApplication } from '../../support/application';
import { type Browser, startBrowser } from '../../support/browser';
import { eventually } from '../../support/eventually';

@Job()
class Render extends Job {
  handle(): void {}
}

interface Mounted {
  readonly port: number;
  close(): Promise<unknown>;
}

type Mount = (manager: QueueManager, path: string) => Promise<Mounted>;

/** The header with which the program identifies its users. */
const USER = 'x-user';
const roleOf = (user: unknown) => user === 'ada' && ({ role: 'operator', name: 'Ada' } as const);

async function listening(server: Server): Promise<Mounted> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

const inExpress: Mount = (manager, path) => {
  const app = express();
  app.use(helmet(), express.json(), express.urlencoded({ extended: false }));
  app.use(path, dashboard({ manager, authorize: (request: express.Request) => roleOf(request.get(USER)) }));
  return listening(createServer(app));
};

const inFastify: Mount = async (manager, path) => {
  const panel = dashboard({ manager, authorize: (request) => roleOf(request.headers[USER]) });
  const app = fastify();
  await app.register(async (jobs) => {
    // The dashboard reads forms itself.
    jobs.removeAllContentTypeParsers();
    jobs.addContentTypeParser('*', (_request, _payload, done) => done(null));
    for (const route of [path, `${path}/*`])
      jobs.all(route, (request, reply) => {
        reply.hijack();
        panel(request.raw, reply.raw);
      });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { port, close: () => Promise.all([closed(app.server), app.close()]) };
};

const inHono: Mount = async (manager, path) => {
  const panel = dashboard({ manager, authorize: (request: Request) => roleOf(request.headers.get(USER)) });
  const app = new Hono();
  app.all(path, (context) => panel.fetch(context.req.raw));
  app.all(`${path}/*`, (context) => panel.fetch(context.req.raw));
  const server = await new Promise<Server>((resolve) => {
    const made = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, () => resolve(made as Server));
  });
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
};

const inNest: Mount = async (manager, path) => {
  @Module({})
  class AppModule implements NestModule {
    configure(consumer: MiddlewareConsumer): void {
      const panel = dashboard({ manager, authorize: (request: express.Request) => roleOf(request.get(USER)) });
      consumer.apply(panel).forRoutes(path);
    }
  }
  const app = await NestFactory.create(AppModule, { logger: false });
  app.use(helmet());
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as Server;
  return { port: (server.address() as AddressInfo).port, close: () => app.close() };
};

const inPlainHttp: Mount = (manager, path) => {
  const panel = dashboard({ manager, authorize: (request) => roleOf(request.headers[USER]) });
  const server = createServer((request, response) => {
    if (request.url?.startsWith(path)) panel(request, response);
    else response.writeHead(404).end();
  });
  return listening(server);
};

/** A proxy that strips the path before `/jobs`, and changes the host. */
function proxyTo(port: number): Promise<Mounted> {
  const server = createServer((incoming, response) => {
    const { method, url = '', headers } = incoming;
    const forwarded = { ...headers, host: `127.0.0.1:${port}`, 'x-forwarded-host': headers.host };
    const path = url.replace(/^\/admin(?=\/jobs)/, '');
    const asked = ask({ port, method, path, headers: forwarded }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      response.once('close', () => answer.destroy());
    });
    incoming.pipe(asked);
  });
  return listening(server);
}

const frameworks: readonly (readonly [string, Mount])[] = [
  ['Express 5', inExpress],
  ['Fastify 5', inFastify],
  ['Hono 4', inHono],
  ['Nest 11', inNest],
  ['plain node:http', inPlainHttp],
];

describe.each(frameworks)('the dashboard in %s', (_name, mount) => {
  it.each(['/jobs', '/admin/area/jobs'])(
    'shows pages and acts below %s, only for those who are let in',
    async (path) => {
      const { manager, log } = testApplication();
      await manager.connection().push(new Render(), 'films');
      const { port, close } = await mount(manager, path);
      const view = await browser.open(`http://127.0.0.1:${port}${path}`, { extraHTTPHeaders: { [USER]: 'ada' } });
      const { page } = view;

      await page.locator('tr[data-key="films"] button').click();
      await page.getByRole('link', { name: 'Workers' }).click();
      await page.getByRole('heading', { name: 'Workers' }).waitFor();

      expect(new URL(page.url()).pathname).toBe(`${path}/workers`);
      expect(await manager.connection().pausedQueues()).toEqual(['films']);
      expect(log.messages('info')).toEqual([expect.stringContaining('Dashboard, Ada: films is paused')]);
      expect(view.problems()).toEqual([]);
      await view.close();
      const refused = await fetch(`http://127.0.0.1:${port}${path}/`);
      expect([refused.status, await refused.text()]).toEqual([403, expect.not.stringContaining('films')]);
      await close();
    },
  );

  it('shows changes live', async () => {
    const { manager, clock } = testApplication();
    const { port, close } = await mount(manager, '/jobs');
    const view = await browser.open(`http://127.0.0.1:${port}/jobs/`, { extraHTTPHeaders: { [USER]: 'ada' } });

    await manager.connection().push(new Render(), 'films');
    const isSeen = await eventually(async () => {
      await clock.advance('2s');
      return view.page.locator('tr[data-key="films"]').isVisible();
    });

    expect(isSeen).toBe(true);
    await view.close();
    await close();
  });
});

describe('the dashboard behind a proxy that strips part of the path', () => {
  it('shows pages, acts, and shows changes live', async () => {
    const { manager, clock } = testApplication();
    await manager.connection().push(new Render(), 'films');
    const mounted = await inExpress(manager, '/jobs');
    const proxy = await proxyTo(mounted.port);
    const view = await browser.open(`http://127.0.0.1:${proxy.port}/admin/jobs`, {
      extraHTTPHeaders: { [USER]: 'ada' },
    });

    await view.page.locator('tr[data-key="films"] button').click();
    await view.page.locator('tr[data-key="films"] .badge').waitFor();
    await manager.connection().push(new Render(), 'music');
    const isSeen = await eventually(async () => {
      await clock.advance('2s');
      return view.page.locator('tr[data-key="music"]').isVisible();
    });

    expect([isSeen, new URL(view.page.url()).pathname]).toEqual([true, '/admin/jobs/']);
    expect(await manager.connection().pausedQueues()).toEqual(['films']);
    expect(view.problems()).toEqual([]);
    await view.close();
    await proxy.close();
    await mounted.close();
  });
});

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());
