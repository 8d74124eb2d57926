/** The stack of an error, with the frames of libraries folded, and the lines of source that it came from. */
import { foldedText, stackPieces } from '../../base/folded-stack';
import type { SourceLines } from '../../operations/history/attempt';
import { html, type Html } from '../html';
import { counted } from './text';

/** In characters. Our stacks are shorter; another program may have kept longer ones. */
const LONGEST = 16 * 1024;

export function stackBlock(exception: string): Html {
  const left = exception.length - LONGEST;
  const pieces = stackPieces(exception.slice(0, LONGEST)).map(({ text, folded }) =>
    folded === 0
      ? html`<bdi>${text}</bdi>
`
      : html`<details><summary>${foldedText(folded).trimStart()}</summary><bdi>${text}</bdi></details>`,
  );
  return html`<div class="stack" tabindex="0" role="group" aria-label="Stack">${pieces}${left > 0 && `… and ${counted(left, 'more character')}`}</div>`;
}

/** `src/mail.ts:31` */
export function sourcePlace({ file, line }: SourceLines): Html {
  return html`<bdi class="mono">${file}:${String(line)}</bdi>`;
}

export function sourceBlock({ line, from, lines }: SourceLines): Html {
  const rows = lines.map((text, place) => {
    const number = from + place;
    const isIt = number === line;
    return html`<span${isIt && html` class="marked"`}>${isIt ? '> ' : '  '}${String(number).padStart(5)}  ${text}
</span>`;
  });
  return html`<pre class="source" tabindex="0" aria-label="Lines of the source around line ${line}">${rows}</pre>`;
}
