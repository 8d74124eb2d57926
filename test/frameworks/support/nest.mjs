/** docs/nestjs.md, as it stands there, on the Nest of the folder that this is run in. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { freePort } from './free-port.mjs';
import { writeFilesOf } from './page.mjs';
import { eventually, Program, run } from './program.mjs';

/** What a shop has beside its jobs: a mailer that is of no use once Nest has destroyed it. */
const MAILER = `
import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';

@Injectable()
export class Mailer implements OnModuleDestroy {
  #isOpen = true;

  async send(to: string, _signal: AbortSignal) {
    console.log(\`sending to \${to}\`);
    // Until the process has been told to stop, and for some turns more: whoever closes too early has done so by then.
    while (!existsSync('told')) await setTimeout(10);
    for (let turn = 0; turn < 20; turn += 1) await setTimeout(10);
    if (!this.#isOpen) throw new Error('the mailer is closed');
    console.log(\`sent to \${to}\`);
  }

  onModuleDestroy() {
    this.#isOpen = false;
    console.log('the mailer is closed');
  }
}`;

const SETTINGS = `
export class Settings {
  readonly concurrency = 3;
}`;

/** What is scoped to requests, listeners that Nest makes, and options that a function makes. */
const SCOPED = `
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Events } from 'onqueue';
import { SendReceipt } from './receipt';
import { root } from './root';
import { OrderShipped } from './shipped.listener';

async function main() {
  const app = await NestFactory.createApplicationContext(root, { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  await SendReceipt.dispatch(7);
  await SendReceipt.dispatch(8);
  await Events.dispatch(new OrderShipped('may@example.org'));
}

void main();`;

const APP = `
import { Module } from '@nestjs/common';
import { Mailer } from './mailer';
import { Audit } from './receipt';
import { Settings } from './settings';
import { TellCustomer } from './shipped.listener';
import { UsersController } from './users.controller';

@Module({ providers: [Mailer], exports: [Mailer] })
class MailModule {}

@Module({
  imports: [MailModule],
  controllers: [UsersController],
  providers: [Audit, Settings, TellCustomer],
  exports: [Settings],
})
export class AppModule {}`;

const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  types: ['node'],
  rootDir: 'src',
  outDir: 'dist',
};

const files = writeFilesOf('nestjs.md');
writeFileSync('src/mailer.ts', MAILER);
writeFileSync('src/app.module.ts', APP);
writeFileSync('src/settings.ts', SETTINGS);
writeFileSync('src/scoped.ts', SCOPED);
const main = readFileSync('src/main.ts', 'utf8');
const TOLD = "\nprocess.once('SIGTERM', () => console.log('told to stop'));\n";
const withWorkers = "{ configuration, workers: [{ queue: 'mail', concurrency: 10 }] }";
writeFileSync('src/embedded.ts', `${main.replace('AppModule, { configuration }', `AppModule, ${withWorkers}`)}${TOLD}`);
const own = main.replace(/QueueModule\.around\(.*\)\);/, 'WorkerModule);').replace(/import .*'onqueue.nest';/, '');
writeFileSync('src/own.ts', `import { WorkerModule } from './worker.module';\n${own}${TOLD}`);
writeFileSync('tsconfig.json', JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['src'] }));
await run('tsc', ['-p', '.']);
console.log(`compiled: ${files.join(', ')}`);

const WORK = ['work', '--config', 'dist/onqueue.config.js', '--queue=mail'];

/** Whether nothing waits, runs or has failed. */
async function nothingIsLeft() {
  const printed = new Program('onqueue', ['size', '--config', 'dist/onqueue.config.js', '--json']);
  const { code, output } = await printed.ended;
  assert.equal(code, 0, output);
  const sizes = JSON.parse(output.slice(0, output.lastIndexOf(']') + 1));
  const counts = sizes.map(({ ready, delayed, reserved, failed }) => ready + delayed + reserved + failed);
  assert.equal(Math.max(...counts), 0, output);
}

async function served(file) {
  const port = await freePort();
  const server = new Program('node', [file], { env: { PORT: String(port) } });
  await eventually(
    () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
    'the server listens',
  );
  const register = async (email) => {
    const answer = await fetch(`http://127.0.0.1:${port}/users/${email}`, { method: 'POST' });
    assert.equal(answer.status, 202);
    assert.match((await answer.json()).job, /^[\w-]{16,}$/);
  };
  return { server, register };
}

/** The job that ran when the process was told to stop has ended before Nest destroys what it uses. */
function assertOrder(output, email) {
  const steps = output.match(/^.*(sending to|sent to|the mailer is closed).*$/gm);
  assert.deepEqual(steps, [`sending to ${email}`, `sent to ${email}`, 'the mailer is closed'], output);
}

// The web dispatches, and ends by the signal.
const web = await served('dist/main.js');
await web.register('ada@example.org');
web.server.kill();
assert.equal((await web.server.ended).code, 'SIGTERM');
console.log('the web has dispatched');

// `onqueue work` runs it, and lets it end.
const worker = new Program('onqueue', WORK);
await worker.said(/sending to ada@example.org/);
worker.kill();
await worker.said(/SIGTERM/);
writeFileSync('told', '');
const { code, output } = await worker.ended;
assert.equal(code, 0, output);
assertOrder(output, 'ada@example.org');
await nothingIsLeft();
console.log('onqueue work has let its job end before Nest closed');

// The same from TypeScript, as in development.
const again = await served('dist/main.js');
await again.register('eve@example.org');
again.server.kill();
const fromSource = await run('onqueue', [
  'work',
  '--config',
  'src/onqueue.config.ts',
  '--queue=mail',
  '--stop-when-empty',
]);
assertOrder(fromSource, 'eve@example.org');

// A worker in the process of the web.
for (const file of ['embedded', 'own']) {
  rmSync('told');
  const both = await served(`dist/${file}.js`);
  await both.register('bob@example.org');
  await both.server.said(/sending to bob@example.org/);
  both.server.kill();
  await both.server.said(/told to stop/);
  writeFileSync('told', '');
  const end = await both.server.ended;
  assertOrder(end.output, 'bob@example.org');
  assert.equal(end.code, 'SIGTERM', end.output);
  await nothingIsLeft();
}
console.log('a worker in the process of the web has let its job end before Nest closed, with the module and without');

// What Nest makes for each job.
const scoped = new Program('node', ['dist/scoped.js']);
await Promise.all(['SendReceipt: order 7', 'SendReceipt: order 8', 'sent to may@'].map((line) => scoped.said(line)));
scoped.kill();
assert.equal((await scoped.ended).code, 'SIGTERM');
await nothingIsLeft();
console.log('providers were made for each job');
