// The page of glint's live view. Messages: client/view/message.h.
'use strict';

const RETRY_MS = 1000;      // between attempts to reach glint
const SILENCE_MS = 3000;    // without a frame for so long, the page says so
const CHART_FRAMES = 240;
const PATH_MARGIN = 24;     // pixels
const OCTAVES = ['#3cdc50', '#96e63c', '#dce628', '#ffb41e', '#ff7828', '#ff3c3c', '#fa3c96', '#d246e6'];
const STAGES = ['#6c8ebf', '#8d6cbf', '#bf6c9d', '#bf7f6c', '#e0b040', '#7fbf6c', '#6cbfb2', '#8a949c', '#d0d4d8'];
const STEPS = ['#3cdc50', '#ffb41e', '#ff3c3c'];  // located, uncertain, lost
const AXES = ['#ff7828', '#3cdc50', '#6cb4ff'];  // x, y, z of a strip
const RAMP = Array.from({length: 256}, (_, i) => `hsl(${240 * (1 - i / 255)} 90% 55%)`);

const element = (id) => document.getElementById(id);
const history = [];         // of the chart: lists of [stage, nanoseconds]
const strips = new Map();   // of their names: {box, canvas, caption, rows}
let socket = null;
let state = {title: '', notice: '', paused: false};
let connection = 'Connecting to glint…';
let lastFrame = 0;          // when the last one was drawn
let drawn = 0;              // frames

function show(id, visible) { element(id).hidden = !visible; }

function updateNotice() {
  let text = connection || state.notice;
  const silent = performance.now() - lastFrame;
  if (!text && !state.paused && silent > SILENCE_MS) {
    text = lastFrame === 0 ? 'No frame has come yet.' : `No frame for ${Math.floor(silent / 1000)} s.`;
  }
  element('notice').textContent = text;
  show('notice', text !== '');
}

// Nothing else than the keys of a state has a meaning; sliders that a person moves are left alone.
function applyState(next) {
  state = next;
  document.title = `Glint: ${state.title}`;
  element('title').textContent = state.title;
  element('pause').textContent = state.paused ? 'Go on' : 'Pause';
  for (const name of ['threshold', 'features']) {
    show(`${name}-label`, name in state);
    if (!(name in state)) continue;
    if (document.activeElement !== element(name)) element(name).value = state[name];
    element(`${name}-value`).textContent = state[name];
  }
  updateNotice();
}

function readMarks(view, at, count) {
  const marks = [];
  for (let i = 0; i < count; ++i, at += 8) {
    marks.push({x: view.getUint16(at, true) / 4, y: view.getUint16(at + 2, true) / 4,
                size: view.getUint16(at + 4, true) / 4, color: view.getUint8(at + 6), angle: view.getUint8(at + 7)});
  }
  return [marks, at];
}

function readTrails(view, at, count) {
  const trails = [];
  for (let i = 0; i < count; ++i) {
    const trail = {color: view.getUint8(at), points: []};
    const points = view.getUint8(at + 1);
    at += 2;
    for (let k = 0; k < points; ++k, at += 4) {
      trail.points.push([view.getUint16(at, true) / 4, view.getUint16(at + 2, true) / 4]);
    }
    trails.push(trail);
  }
  return [trails, at];
}

function readPath(view, at, count) {
  const path = [];
  for (let i = 0; i < count; ++i, at += 12) {
    path.push({x: view.getFloat32(at, true), z: view.getFloat32(at + 4, true), state: view.getUint8(at + 8),
               keyframe: view.getUint8(at + 9) === 1});
  }
  return [path, at];
}

function readScene(buffer) {
  const view = new DataView(buffer);
  const headerBytes = view.getUint32(0, true);
  const scene = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerBytes)));
  let at = 4 + headerBytes;
  [scene.marks, at] = readMarks(view, at, scene.marks);
  [scene.trails, at] = readTrails(view, at, scene.trails);
  [scene.path, at] = readPath(view, at, scene.path);
  scene.file = at < buffer.byteLength ? new Blob([new Uint8Array(buffer, at)]) : null;
  return scene;
}

function drawMarks(context, scene, unit) {
  const color = (c) => scene.palette === 'ramp' ? RAMP[c] : OCTAVES[Math.min(c, OCTAVES.length - 1)];
  for (const mark of scene.marks) {
    context.strokeStyle = context.fillStyle = color(mark.color);
    context.beginPath();
    if (mark.size === 0) {
      context.arc(mark.x + 0.5, mark.y + 0.5, 2.5 * unit, 0, 2 * Math.PI);
      context.fill();
      continue;
    }
    const radius = mark.size / 2;
    context.arc(mark.x + 0.5, mark.y + 0.5, radius, 0, 2 * Math.PI);
    if (mark.angle < 255) {
      const turn = 2 * Math.PI * mark.angle / 255;
      context.moveTo(mark.x + 0.5, mark.y + 0.5);
      context.lineTo(mark.x + 0.5 + radius * Math.cos(turn), mark.y + 0.5 + radius * Math.sin(turn));
    }
    context.stroke();
  }
}

function drawTrails(context, scene, unit) {
  for (const trail of scene.trails) {
    context.strokeStyle = context.fillStyle = RAMP[trail.color];
    context.beginPath();
    for (const [x, y] of trail.points) context.lineTo(x + 0.5, y + 0.5);
    context.stroke();
    const [x, y] = trail.points[trail.points.length - 1];
    context.beginPath();
    context.arc(x + 0.5, y + 0.5, 2 * unit, 0, 2 * Math.PI);
    context.fill();
  }
}

async function drawPicture(scene) {
  const canvas = element('picture');
  const bitmap = scene.file ? await createImageBitmap(scene.file) : null;
  const width = scene.width || (bitmap ? bitmap.width : canvas.width);
  const height = scene.height || (bitmap ? bitmap.height : canvas.height);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext('2d');
  if (bitmap) {
    context.drawImage(bitmap, 0, 0, width, height);
    bitmap.close();
  } else {
    context.clearRect(0, 0, width, height);
  }
  const unit = Math.max(1, width / 960);
  context.lineWidth = unit;
  drawTrails(context, scene, unit);
  drawMarks(context, scene, unit);
}

// A length of 1, 2 or 5 times a power of ten that is at most `limit`.
function roundLength(limit) {
  const power = 10 ** Math.floor(Math.log10(limit));
  return power * [5, 2, 1].find((factor) => factor * power <= limit);
}

// From above: x to the right, z up; the scale fits the path.
function drawPath(path) {
  show('path', path.length > 0);
  if (path.length === 0) return;
  const canvas = element('path');
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, canvas.width, canvas.height);
  let [left, right, near, far] = [path[0].x, path[0].x, path[0].z, path[0].z];
  for (const step of path) {
    left = Math.min(left, step.x);
    right = Math.max(right, step.x);
    near = Math.min(near, step.z);
    far = Math.max(far, step.z);
  }
  const scale = (canvas.width - 2 * PATH_MARGIN) / Math.max(right - left, far - near, 1e-3);
  const place = (step) => [canvas.width / 2 + scale * (step.x - (left + right) / 2),
                           canvas.height / 2 - scale * (step.z - (near + far) / 2)];
  context.lineWidth = 2;
  for (let i = 1; i < path.length; ++i) {
    context.strokeStyle = STEPS[path[i].state];
    context.beginPath();
    context.moveTo(...place(path[i - 1]));
    context.lineTo(...place(path[i]));
    context.stroke();
  }
  for (const [i, step] of path.entries()) {
    const now = i === path.length - 1;
    if (!step.keyframe && !now) continue;
    context.fillStyle = STEPS[step.state];
    context.beginPath();
    context.arc(...place(step), now ? 6 : 3, 0, 2 * Math.PI);
    context.fill();
  }
  const bar = roundLength((canvas.width - 2 * PATH_MARGIN) / scale / 3);
  context.fillStyle = '#e4e6e8';
  context.fillRect(PATH_MARGIN, canvas.height - 12, bar * scale, 3);
  context.fillText(`${bar} m`, PATH_MARGIN, canvas.height - 16);
}

// A column for each frame, its stages one above the other, and a line at a round number of milliseconds.
function drawChart(stages) {
  history.push(stages);
  if (history.length > CHART_FRAMES) history.shift();
  const canvas = element('chart');
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, canvas.width, canvas.height);
  const total = (list) => list.reduce((sum, [, ns]) => sum + ns, 0);
  const most = Math.max(1e3, ...history.map(total));
  const scale = canvas.height / (1.1 * most);
  const width = canvas.width / CHART_FRAMES;
  history.forEach((list, i) => {
    let y = canvas.height;
    list.forEach(([, ns], stage) => {
      context.fillStyle = STAGES[stage % STAGES.length];
      context.fillRect(i * width, y - ns * scale, Math.ceil(width), ns * scale);
      y -= ns * scale;
    });
  });
  const line = roundLength(most / 1e6);
  const y = canvas.height - line * 1e6 * scale;
  context.fillStyle = '#e4e6e8';
  context.fillRect(0, y, canvas.width, 1);
  context.fillText(`${line} ms`, canvas.width - 48, y - 4);
  element('legend').replaceChildren(...stages.map(([name, ns], stage) => {
    const item = document.createElement('li');
    const box = document.createElement('i');
    box.style.background = STAGES[stage % STAGES.length];
    item.append(box, `${name} ${(ns / 1e6).toFixed(3)} ms`);
    return item;
  }));
}

function makeStrip(name) {
  const strip = {box: document.createElement('div'), caption: document.createElement('span'),
                 canvas: document.createElement('canvas'), rows: []};
  [strip.canvas.width, strip.canvas.height] = [360, 100];
  strip.box.append(strip.caption, strip.canvas);
  element('strips').append(strip.box);
  strips.set(name, strip);
  return strip;
}

// A line for each axis, around 0 in the middle; the largest value fills the height.
function drawStrips(given) {
  show('strips', given.length > 0);
  for (const [name, ...values] of given) {
    const {canvas, caption, rows} = strips.get(name) || makeStrip(name);
    rows.push(values);
    if (rows.length > CHART_FRAMES) rows.shift();
    caption.textContent = `${name}: ${values.map((v) => v === null ? 'not known' : v.toPrecision(3)).join(', ')}`;
    const context = canvas.getContext('2d');
    const [middle, width] = [canvas.height / 2, canvas.width / CHART_FRAMES];
    const scale = 0.9 * middle / Math.max(1e-9, ...rows.flat().map((v) => Math.abs(v)));
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = '#5a6168';
    context.fillRect(0, middle, canvas.width, 1);
    AXES.forEach((color, axis) => {
      context.fillStyle = color;
      rows.forEach((row, i) => {
        if (row[axis] !== null) context.fillRect(i * width, middle - row[axis] * scale - 1, Math.ceil(width), 2);
      });
    });
  }
}

async function drawScene(scene) {
  try {
    await drawPicture(scene);
  } catch (error) {
    scene.text = `${scene.name}: the browser cannot decode this picture`;
  }
  drawPath(scene.path);
  drawStrips(scene.strips);
  drawChart(scene.stages);
  element('figures').textContent = `${scene.name}: ${scene.text}`;
  show('scale', scene.scale.length > 0);
  if (scene.scale.length > 0) [element('low').textContent, element('high').textContent] = scene.scale;
  lastFrame = performance.now();
  document.body.dataset.frames = ++drawn;
  updateNotice();
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/frames`);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    connection = '';
    lastFrame = performance.now();
    updateNotice();
  };
  socket.onmessage = async (event) => {
    if (typeof event.data === 'string') {
      applyState(JSON.parse(event.data));
      return;
    }
    const from = event.target;
    await drawScene(readScene(event.data));
    if (from.readyState === WebSocket.OPEN) from.send('ready');
  };
  socket.onclose = (event) => {
    connection = event.reason ? `Not connected: ${event.reason}.` :
        `Not connected: nothing answers at ${location.host}. Start glint view again; this page goes on by itself.`;
    updateNotice();
    setTimeout(connect, RETRY_MS);
  };
}

function say(text) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(text);
}

element('pause').addEventListener('click', () => say(state.paused ? 'resume' : 'pause'));
for (const name of ['threshold', 'features']) {
  element(name).addEventListener('input', () => { element(`${name}-value`).textContent = element(name).value; });
  element(name).addEventListener('change', () => say(`${name} ${element(name).value}`));
}
setInterval(updateNotice, 1000);
connect();
