/** `init` and `make:job`: write the first files of a project, and a new job. They overwrite nothing. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { findConfigFile, projectFolder } from '../../application/configuration/config-file';
import { isRecord } from '../../payload/values';
import { type Call, defineCommand } from '../command';
import { fileExists, invalidOption } from '../errors';
import { on, type ProjectFlags, text } from '../flags';
import { configText, fileIn, jobText, type Language, programText, TSCONFIG } from '../new-files';

const TYPESCRIPT = on('write TypeScript (default: if the project has a tsconfig.json, or typescript as a dependency)');

export const init = defineCommand({
  name: 'init',
  summary: 'write a configuration, a first job and two scripts into this project',
  description:
    'Writes onqueue.config, a job, a program that dispatches it, tsconfig.json if the project is in TypeScript and has none, and the ' +
    "scripts 'dispatch' and 'worker' of package.json. Nothing is written if one of these files is there already.",
  examples: [
    ['onqueue init', 'in the folder with package.json'],
    ['onqueue init --typescript', 'in TypeScript'],
  ],
  flags: { typescript: TYPESCRIPT },
  run(call) {
    const project = projectOf(call, call.flags.typescript);
    const { root, language, fields } = project;
    const configured = findConfigFile(root);
    if (configured !== undefined) throw fileExists(relative(root, configured));
    const [job, program] = ['SendWelcome', fileIn('src', 'dispatch', language)];
    const file = fileIn('src/jobs', job, language);
    const files = write(root, {
      [`onqueue.config.${language.ending}`]: configText(job, file, language),
      [file]: jobText(job, language),
      [program]: programText(job, file, language),
      ...(language.isTyped && !existsSync(join(root, 'tsconfig.json')) && { 'tsconfig.json': TSCONFIG }),
    });
    const scripts = {
      dispatch: language.isTyped ? `tsc -p . && node ${join('dist', program).replace(/ts$/, 'js')}` : `node ${program}`,
      worker: 'onqueue work',
    };
    const own = isRecord(fields['scripts']) ? fields['scripts'] : {};
    writeFileSync(
      join(root, 'package.json'),
      `${JSON.stringify({ ...fields, scripts: { ...scripts, ...own } }, undefined, 2)}\n`,
    );
    for (const name of Object.keys(scripts))
      if (name in own) call.output.note(`package.json has a script '${name}' already, which stays as it is.`);
    const missing = ['typescript', '@types/node', '@swc/core'].filter((name) => language.isTyped && !project.has(name));
    const install = missing.length === 0 ? [] : [`  npm install --save-dev ${missing.join(' ')}`];
    const added = Object.keys(scripts).filter((name) => !(name in own));
    const wrote = [...files, ...added.map((name) => `package.json: the script '${name}'`)];
    call.output.result(
      { language: language.isTyped ? 'typescript' : 'javascript', file, files, scripts: added },
      'Wrote:',
      ...wrote.map(indented),
      'Next:',
      ...install,
      '  npm run dispatch',
      '  npm run worker',
    );
  },
});

export const makeJob = defineCommand({
  name: 'make:job',
  summary: 'write the file of a new job',
  description: 'The file goes to src/jobs, app/jobs or jobs, whichever there is; otherwise to src/jobs.',
  examples: [
    ['onqueue make:job SendWelcome', 'writes src/jobs/send-welcome.ts, or .js'],
    ['onqueue make:job SendWelcome --folder=lib/jobs', 'into another folder'],
  ],
  words: ['<name>', 'the name of the class, such as SendWelcome'],
  flags: { folder: text('<folder>', 'where the file goes'), typescript: TYPESCRIPT },
  run(call) {
    const { root, language } = projectOf(call, call.flags.typescript);
    const [name = ''] = call.words;
    checkName(name);
    const known = ['src/jobs', 'app/jobs', 'jobs'].find((folder) => existsSync(join(root, folder)));
    const file = fileIn(call.flags.folder ?? known ?? 'src/jobs', name, language);
    write(root, { [file]: jobText(name, language) });
    call.output.result(
      { name, file },
      `Wrote ${file}. Add ${name} to 'jobs' in onqueue.config, so that workers know it.`,
    );
  },
});

interface NewProject {
  readonly root: string;
  readonly language: Language;
  /** Those of package.json. */
  readonly fields: Readonly<Record<string, unknown>>;
  has(name: string): boolean;
}

function projectOf(call: Call<ProjectFlags>, typescript: boolean | undefined): NewProject {
  const root = projectFolder(call.session.surroundings.folder);
  const manifest = join(root, 'package.json');
  if (!existsSync(manifest)) call.refuse('there is no package.json here or in a folder above: run npm init -y first.');
  const fields = JSON.parse(readFileSync(manifest, 'utf8')) as Readonly<Record<string, unknown>>;
  const has = (name: string): boolean =>
    ['dependencies', 'devDependencies'].some((kind) => isRecord(fields[kind]) && name in (fields[kind] as object));
  const isTyped = typescript ?? (existsSync(join(root, 'tsconfig.json')) || has('typescript'));
  const language: Language = { isTyped, isModule: fields['type'] === 'module', ending: isTyped ? 'ts' : 'js' };
  return { root, fields, has, language };
}

/** @throws E_INVALID_OPTION */
function checkName(name: string): void {
  if (/^[A-Z][A-Za-z0-9]*$/.test(name)) return;
  const words = name.replace(/^.*[/\\]|\.[jt]s$/g, '').split(/[^A-Za-z0-9]+/);
  const meant = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
  const remedy = 'Give the name of a class: letters and digits, the first a capital letter';
  throw invalidOption('make:job', name, /^[A-Z]/.test(meant) ? `${remedy}, such as ${meant}.` : `${remedy}.`);
}

const indented = (line: string): string => `  ${line}`;

/** All or none. Returns their names. @throws E_FILE_EXISTS */
function write(root: string, files: Readonly<Record<string, string>>): readonly string[] {
  for (const file of Object.keys(files)) if (existsSync(join(root, file))) throw fileExists(file);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    // Another process may have written it since.
    writeFileSync(join(root, file), content, { flag: 'wx' });
  }
  return Object.keys(files);
}
