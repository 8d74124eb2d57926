/**
 * `npm run docs`: builds the site of `docs` into `build/site` and serves it on this machine; `-- --build` only builds it.
 * A link that leads nowhere ends the build. The dependencies are those of this folder, installed on first use.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

function must(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js');
if (!existsSync(vitepress)) must('npm', 'ci');
must(process.execPath, vitepress, 'build');
if (!process.argv.includes('--build')) must(process.execPath, vitepress, 'preview');
