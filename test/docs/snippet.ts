/** The TypeScript blocks in README and docs, and those of JavaScript that run: where each stands and how it is marked. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Snippet {
  /** Page and first line, such as `docs/jobs.md:12`. */
  readonly place: string;
  /** Unique, and usable as a file name. */
  readonly name: string;
  /** `js` is run as it is. */
  readonly language: 'ts' | 'js';
  /** The content of the file that is compiled. */
  readonly source: string;
  /** The number of lines before the block's own. */
  readonly offset: number;
  readonly line: number;
  /** Whether it is marked with `ts run`. */
  readonly runs: boolean;
  /** The following block of `text output`, which is its expected output. */
  readonly output: string | undefined;
}

const MARKS: readonly string[] = ['run', 'fragment', 'framework'];

const BLOCK = /^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm;

/** All such blocks in the pages of a folder. */
export function snippetsOf(root: string): Snippet[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`);
  return ['README.md', ...pages.toSorted()].flatMap((page) => snippetsIn(page, readFileSync(join(root, page), 'utf8')));
}

/**
 * - `ts`: a whole module with its imports.
 * - `ts run` and `js run`: is also run, and must end by itself; a following block `text output` is its expected output.
 * - `ts framework`: a file of a program on a framework, which is compiled and run in `test/frameworks`, not here.
 * - `ts fragment`: some lines of a module, which may use what `test/docs/prelude.ts` declares.
 */
export function snippetsIn(page: string, text: string): Snippet[] {
  const blocks = [...text.matchAll(BLOCK)];
  return blocks.flatMap((block, index) => {
    const [, language, words = '', code = ''] = block;
    if (language !== 'ts' && !(language === 'js' && words.trim() === 'run')) return [];
    const line = text.slice(0, block.index).split('\n').length + 1;
    const marks = words.trim().split(/\s+/).filter(Boolean);
    const unknown = marks.find((mark) => !MARKS.includes(mark));
    if (unknown !== undefined)
      throw new Error(
        `${page}:${line}: a block can be ${MARKS.map((mark) => `'${mark}'`).join(', ')}, not '${unknown}'.`,
      );
    if (marks.includes('framework')) return [];
    const next = blocks[index + 1];
    const isOutput = next?.[1] === 'text' && next[2]?.trim() === 'output';
    const [source, offset] = marks.includes('fragment') ? wrapped(code) : [code, 0];
    return {
      place: `${page}:${line}`,
      language,
      name: `${page.replaceAll(/\W+/g, '-')}-${line}`,
      source,
      offset,
      line,
      runs: marks.includes('run'),
      output: isOutput ? next[3] : undefined,
    };
  });
}

const prelude = readFileSync(join(__dirname, 'prelude.ts'), 'utf8');

/** Wrapped in a function, so that a fragment may await, and redeclare names of the prelude. */
function wrapped(code: string): [source: string, offset: number] {
  const head = `${prelude}\nexport async function fragment() {\n`;
  return [`${head}${code}}\n`, head.split('\n').length - 1];
}
