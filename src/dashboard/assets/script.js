/* With morph.js the whole script of the dashboard. Without it all pages and actions work; with it they stay up to date. */
(() => {
  const main = document.getElementById('main');
  const button = document.getElementById('pause-updates');
  const state = document.getElementById('state');

  // Shows moments in the viewer's time zone.
  const localise = (root) => {
    for (const time of root.querySelectorAll('time')) {
      const at = new Date(time.dateTime);
      time.title = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
      if ('clock' in time.dataset)
        time.textContent = at.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
    }
  };

  const update = ({ trouble, title, ids, markup }) => {
    // A page that only shows its trouble says it already.
    const told = document.getElementById('trouble') ? '' : trouble;
    if (state.textContent !== told) state.textContent = told;
    if (!ids) return;
    const heading = main.querySelector('h1');
    if (heading.textContent !== title) {
      heading.textContent = title;
      document.title = `${title} – Onqueue`;
    }
    const box = document.createElement('template');
    box.innerHTML = markup;
    localise(box.content);
    const focused = document.activeElement;
    const rows = [...(focused?.closest('table')?.rows ?? [])];
    const at = rows.indexOf(focused?.closest('tr'));
    let before = state;
    for (const id of ids) {
      const shown = document.getElementById(id);
      const next = box.content.getElementById(id);
      if (shown && next) morph(shown, next);
      else if (next) before.after(next);
      before = shown ?? next;
    }
    for (const part of [...main.querySelectorAll(':scope > .part')]) if (!ids.includes(part.id)) part.remove();
    if (focused === document.activeElement) return;
    // A row that has moved has lost the focus. If the row is gone, the link of a neighbour gets the focus, where a key pressed
    // now does no harm.
    const near = [...rows.slice(at), ...rows.slice(0, at).toReversed()].find((row) => row.isConnected);
    (focused.isConnected ? focused : (near?.querySelector('a') ?? main)).focus({ preventScroll: true });
  };

  let source;
  let isPaused = false;
  let wait = 1000;
  const close = () => {
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (isPaused || document.hidden || source || !main?.dataset.live) return;
    source = new EventSource(location.href);
    source.addEventListener('message', ({ data }) => {
      wait = 1000;
      update(JSON.parse(data));
    });
    source.addEventListener('error', () => {
      close();
      // The server ends the connection itself from time to time.
      if (wait > 1000) state.textContent = 'Updates have stopped: the dashboard cannot be reached. Trying again.';
      setTimeout(open, (wait = Math.min(wait * 2, 30000)));
    });
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  addEventListener('pagehide', close);
  addEventListener('pageshow', open);
  button?.addEventListener('click', () => {
    isPaused = !isPaused;
    button.setAttribute('aria-pressed', isPaused);
    if (isPaused) close();
    else open();
  });

  // The values of a chart are in its table; shown one by one, under the pointer and by the arrow keys.
  const point = (chart, place) => {
    const rows = chart.querySelectorAll('tbody tr');
    const at = Math.max(0, Math.min(place, rows.length - 1));
    const labels = [...chart.querySelectorAll('thead th')].slice(1);
    const [moment, ...values] = rows[at].children;
    chart.dataset.at = at;
    chart.querySelector('.readout').textContent =
      `${moment.textContent}: ` + values.map((cell, n) => `${cell.textContent} ${labels[n].textContent}`).join(', ');
    const cursor = chart.querySelector('.cursor');
    cursor.style.left = `${((at + 0.5) / rows.length) * 100}%`;
    cursor.hidden = false;
  };
  document.addEventListener('pointermove', ({ target, clientX }) => {
    const plot = target.closest?.('.plot');
    if (!plot) return;
    const { left, width } = plot.getBoundingClientRect();
    const chart = plot.closest('.chart');
    point(chart, Math.floor(((clientX - left) / width) * chart.querySelectorAll('tbody tr').length));
  });
  document.addEventListener('keydown', (event) => {
    const { target, key } = event;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step || !target.matches('.chart')) return;
    event.preventDefault();
    point(target, Number(target.dataset.at ?? target.querySelectorAll('tbody tr').length) + step);
  });

  document.addEventListener('change', ({ target }) => {
    if (target.matches('[data-all]'))
      for (const box of target.closest('table').querySelectorAll('tbody input[type=checkbox]'))
        box.checked = target.checked;
  });
  document.addEventListener('click', ({ target }) => {
    const copy = target.closest('[data-copy]');
    if (!copy) return;
    const text = copy.dataset.copy || document.getElementById(copy.dataset.of)?.textContent;
    void navigator.clipboard?.writeText(text).then(() => {
      copy.dataset.done = '';
      setTimeout(() => delete copy.dataset.done, 1500);
    });
  });

  if (main?.dataset.live && button) button.hidden = false;
  localise(document);
  open();
})();
