/** A user's project in a temporary folder: its dependencies are installed, and its programs run as processes. */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const root = join(__dirname, '../..');

/** Long enough for slow machines. A process that has not ended by then does not end by itself. */
const DEADLINE_MS = 240_000;

export interface Ended {
  /** Null if it did not end by itself. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** @throws if the build is older than the sources, because a test would then test something else */
export function requireBuild(): void {
  const check = spawnSync(process.execPath, [join(root, 'scripts/build.mjs'), '--samples', '--check'], {
    encoding: 'utf8',
  });
  if (check.status !== 0) throw new Error(check.stderr);
}

export class Project {
  /** The real path without symbolic links, as Node.js and compilers show it. */
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'onqueue-project-')));

  constructor(manifest: object = {}) {
    this.write('package.json', JSON.stringify({ name: 'project', private: true, ...manifest }));
  }

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  copy(from: string, to: string): void {
    cpSync(from, join(this.folder, to), { recursive: true });
  }

  /** Links a package installed in this repository into the project. */
  link(name: string, target = join(root, 'node_modules', name)): void {
    const place = join(this.folder, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(target, place, 'dir');
  }

  /** Installs the package as this repository builds it, without packing it. */
  linkPackage(): void {
    this.link('onqueue', root);
    this.linkDependencies();
  }

  /** Installs a packed package: only its files, and the dependencies it declares. */
  install(tarball: string): void {
    const place = join(this.folder, 'node_modules/onqueue');
    mkdirSync(place, { recursive: true });
    const unpacked = spawnSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', place], { encoding: 'utf8' });
    if (unpacked.status !== 0) throw new Error(`${tarball} could not be unpacked: ${unpacked.stderr}`);
    this.linkDependencies();
  }

  run(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Ended> {
    return new Promise((resolve, reject) => {
      const { JEST_WORKER_ID: _jest, NODE_OPTIONS: _options, REDIS_URL: _redis, ...env } = process.env;
      const child = spawn(process.execPath, args, {
        cwd: this.folder,
        env: { ...env, ...variables },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(deadline);
        resolve({ code, stdout, stderr });
      });
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Installs the package's dependencies and peer dependencies. */
  linkDependencies(): void {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
    // Those of a framework are only there where a test links the whole of it.
    const ours = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !name.startsWith('@nestjs/'));
    for (const name of ours) this.link(name);
  }
}
