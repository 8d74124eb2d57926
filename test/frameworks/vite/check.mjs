/** Vite: modules that its development server evaluates anew, and a build for servers. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { build, createServer } from 'vite';
import { eventually, run } from '../support/program.mjs';

const server = await createServer({ server: { middlewareMode: true }, appType: 'custom', logLevel: 'warn' });
const load = () => server.ssrLoadModule('/src/server.ts');
await (await load()).render('Ada');
assert.equal(await (await load()).sizeOf('first'), 1);

for (const queue of ['second', 'third']) {
  writeFileSync('src/jobs.ts', readFileSync('src/jobs.ts', 'utf8').replace(/queue: '\w+'/, `queue: '${queue}'`));
  await eventually(async () => {
    const { render, sizeOf } = await load();
    await render(queue);
    return (await sizeOf(queue)) > 0;
  }, `a job goes to the queue ${queue}`);
}
const { close } = await load();
await close();
await server.close();
console.log('the development server has taken over a changed job, twice');

await build({ logLevel: 'warn', build: { ssr: 'src/server.ts', outDir: 'dist', minify: true } });
await run('node', ['dispatch.mjs', 'Eve']);
console.log('a build for servers has dispatched');

assert.match(await run('onqueue', ['work', '--queue=first,second,third', '--stop-when-empty']), /hello Eve/);
console.log('onqueue work has run it');
