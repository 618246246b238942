// ---- charts
const cursors = [];
const when = f => !frames ? '' : soft ? 'step ' + steps[f].toLocaleString('en') : +at[f].toFixed(probe ? 3 : 2) + ' s';
for (const chart of meta.charts) {
  const values = array(Float32Array, chart.at, frames), format = FORMATS[chart.format];
  const box = document.createElement('div');
  box.className = 'chart';
  box.innerHTML = '<h3><span></span><output></output></h3><svg role="img"></svg>';
  box.querySelector('span').textContent = chart.name;
  $('charts').append(box);
  const svg = box.querySelector('svg'), out = box.querySelector('output');
  svg.setAttribute('aria-label', chart.name + ' over time');
  let top = 0;
  for (const v of values) top = Math.max(top, v);
  const LEFT = 4, RIGHT_ = 6, TOP = 16, FOOT = 76;
  let line = null, dot_ = null, width = 300;
  const x = t => LEFT + (width - LEFT - RIGHT_) * (seconds > start ? (t - start) / (seconds - start) : 0);
  const y = v => FOOT - (FOOT - TOP) * (top > 0 ? Math.max(v, 0) / top : 0);
  const build = () => {
    width = Math.max(svg.clientWidth, 60);
    svg.setAttribute('viewBox', `0 0 ${width} 96`);
    // At most two points a pixel: the least and the most of each.
    const bin = Math.max(1, Math.floor(frames / width)), points = [];
    for (let i = 0; i < frames; i += bin) {
      let a = i, b = i;
      for (let j = i; j < Math.min(i + bin, frames); j++) { if (values[j] < values[a]) a = j; if (values[j] > values[b]) b = j; }
      for (const j of a < b ? [a, b] : a > b ? [b, a] : [a]) points.push(x(at[j]).toFixed(1) + ' ' + y(values[j]).toFixed(1));
    }
    const path = 'M' + points.join('L');
    svg.innerHTML = `<line class="rule" x1="${LEFT}" x2="${width - RIGHT_}" y1="${FOOT}" y2="${FOOT}"/>
      <line class="rule" x1="${LEFT}" x2="${width - RIGHT_}" y1="${TOP}" y2="${TOP}"/>
      <path class="area" d="${path}L${x(seconds)} ${FOOT}L${LEFT} ${FOOT}Z"/><path class="line" d="${path}"/>
      <text x="${LEFT}" y="${TOP - 4}">${format(top)}</text><text x="${LEFT}" y="${FOOT + 14}">${when(0)}</text>
      <text x="${width - RIGHT_}" y="${FOOT + 14}" text-anchor="end">${when(frames - 1)}</text>
      <line class="now" y1="${TOP - 6}" y2="${FOOT}"/><circle r="3.4"/>`;
    line = svg.querySelector('.now');
    dot_ = svg.querySelector('circle');
  };
  const show = f => {
    out.textContent = format(values[f]);
    if (!line) return;
    const px = x(Math.min(Math.max(state.time, start), seconds)).toFixed(1);
    line.setAttribute('x1', px); line.setAttribute('x2', px);
    dot_.setAttribute('cx', px); dot_.setAttribute('cy', y(values[f]).toFixed(1));
  };
  cursors.push(show);
  new ResizeObserver(() => { build(); wake(); }).observe(svg);
  const drag = e => {
    const r = svg.getBoundingClientRect();
    seek(start + (seconds - start) * (e.clientX - r.left - LEFT) / Math.max(r.width - LEFT - RIGHT_, 1));
  };
  box.addEventListener('pointerdown', e => { box.setPointerCapture(e.pointerId); halt(); drag(e); });
  box.addEventListener('pointermove', e => { if (box.hasPointerCapture(e.pointerId)) drag(e); });
}

// ---- bodies
const entry = (colour, words, show) => {
  const item = document.createElement('li');
  item.innerHTML = '<label><input type="checkbox" checked><i></i><span class="name"></span></label>';
  item.querySelector('i').style.background = `rgb(${colour})`;
  item.querySelector('.name').textContent = words;
  item.querySelector('input').addEventListener('change', e => { show(e.target.checked); wake(); });
  $('bodies').append(item);
};
bodies.forEach((body, i) => entry(body.colour, body.name, on => { state.shown[i] = on; }));
if (probe) entry([236, 96, 40], 'path', on => { state.path = on; });
// What colours of triangles say, and whether they are shown.
if (soft) [['hits', soft.hot, 'meet the other'], ['own', soft.own, 'meet their own']].forEach(([name, colour, words], k) => {
  if (k && !meta.parts.some(p => array(Uint32Array, p[name][0], frames + 1)[frames])) return;
  entry(colour, words, on => { state.coloured[k] = on; });
});

// ---- time
const slider = $('slider');
slider.min = start; slider.max = seconds; slider.step = 'any';
const ICONS = { play: 'M4 2l12 7-12 7z', pause: 'M3 2h4v14H3zM11 2h4v14h-4z' };
function label() {
  $('play').querySelector('path').setAttribute('d', state.playing ? ICONS.pause : ICONS.play);
  $('play').setAttribute('aria-label', state.playing ? 'Pause' : 'Play');
}
function seek(t) { state.time = Math.min(Math.max(t, start), seconds); wake(); }
function halt() { state.playing = false; label(); wake(); }
let last = 0;
function play() {
  if (state.playing) return halt();
  if (state.time >= seconds - 1e-6) state.time = start;
  state.playing = frames > 1;
  last = 0;
  label();
  wake();
}
function step(by) {
  halt();
  const f = frameAt(state.time + 1e-6);
  seek(at[Math.min(Math.max(f + by, 0), frames - 1)]);
}
function tick(now) {
  dirty = false;
  if (state.playing) {
    // A pause of the browser is no jump of the motion.
    if (last) state.time += Math.min((now - last) / 1000, .25) * state.speed;
    slow = last && now - last > 55 ? slow + 1 : 0;
    if (slow > 3 && quality > .5) { quality = Math.max(.5, quality * .75); slow = 0; }
    last = now;
    if (state.time >= seconds) { state.time = seconds; state.playing = false; label(); }
  }
  draw();
  const f = frameAt(state.time + 1e-9);
  slider.value = state.time;
  $('clock').textContent = soft ? when(f) : state.time.toFixed(probe ? 3 : 2) + ' s';
  $('touch').textContent = probe ? 'step ' + (frames ? steps[f] : 0).toLocaleString('en') + ', ' + ['free', 'in a box', 'pushed', 'in a box, pushed'][touching[f] || 0] : (touching[f] || 0).toLocaleString('en') + (soft ? ' pair' : ' contact') + (touching[f] === 1 ? '' : 's');
  cursors.forEach(show => show(f));
  clearTimeout(sharpen);
  if (state.playing) wake();
  else if (quality < 1) sharpen = setTimeout(() => { quality = 1; wake(); }, 400);
}
slider.addEventListener('input', () => { halt(); seek(+slider.value); });
$('play').addEventListener('click', play);
$('back').addEventListener('click', () => step(-1));
$('ahead').addEventListener('click', () => step(1));
$('speed').addEventListener('change', e => { state.speed = +e.target.value; });
$('contacts').addEventListener('change', e => { state.contacts = e.target.checked; wake(); });
$('follow').addEventListener('change', e => { state.follow = e.target.checked; wake(); });
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  const rates = [...$('speed').options].map(o => +o.value);
  const faster = by => { const i = Math.min(Math.max(rates.indexOf(state.speed) + by, 0), rates.length - 1); state.speed = rates[i]; $('speed').selectedIndex = i; };
  const keys = {
    ' ': play, ArrowLeft: () => step(e.shiftKey ? -10 : -1), ArrowRight: () => step(e.shiftKey ? 10 : 1),
    ArrowUp: () => faster(1), ArrowDown: () => faster(-1), Home: () => seek(start), End: () => seek(seconds),
    c: () => $('contacts').click(), f: () => $('follow').click(), r: () => $('reset').click(),
  };
  const act = keys[e.key];
  if (!act || (e.key === ' ' && e.target.tagName === 'BUTTON')) return;
  e.preventDefault();
  act();
});
window.player = { state, probe: !!probe, coloured: f => soft ? meta.parts.map(p => lists(p.hits)(f).length) : [], frames, seconds, seek, play, halt, draw: () => draw() };
label();
wake();
if (gl && frames > 1 && !matchMedia('(prefers-reduced-motion: reduce)').matches) play();
})();
