for (const canvas of document.currentScript.parentNode.querySelectorAll("canvas[data-cloud]")) {
  const cloud = JSON.parse(canvas.dataset.cloud), context = canvas.getContext("2d");
  let [yaw, pitch] = cloud.view, dragFrom = null, queued = false;
  const project = ([x, y, z]) => {
    const across = x * Math.cos(yaw) + z * Math.sin(yaw);
    const depth = z * Math.cos(yaw) - x * Math.sin(yaw);
    const down = y * Math.cos(pitch) - depth * Math.sin(pitch);
    const away = depth * Math.cos(pitch) + y * Math.sin(pitch);
    const size = canvas.width * 0.46 / (1 + 0.25 * away);
    return [canvas.width / 2 + across * size, canvas.height / 2 + down * size, away];
  };
  const draw = () => {
    queued = false;
    const points = cloud.points.map(project);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.strokeStyle = cloud.lineColour;
    context.lineWidth = 1.5;
    for (const [a, b] of cloud.lines) {
      context.globalAlpha = 0.6 - 0.3 * (points[a][2] + points[b][2]) / 2;
      context.beginPath();
      context.moveTo(points[a][0], points[a][1]);
      context.lineTo(points[b][0], points[b][1]);
      context.stroke();
    }
    const farthestFirst = [...points.keys()].sort((a, b) => points[b][2] - points[a][2]);
    for (const n of farthestFirst) {
      const [x, y, away] = points[n], group = cloud.groups[n];
      context.globalAlpha = Math.min(1, 0.75 - 0.25 * away);
      context.fillStyle = cloud.colours[group];
      context.beginPath();
      context.arc(x, y, 2 * cloud.radii[group] / (1 + 0.25 * away), 0, 7);
      context.fill();
    }
  };
  canvas.onpointerdown = (event) => {
    dragFrom = [event.clientX, event.clientY];
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointerup = canvas.onpointercancel = () => { dragFrom = null; };
  canvas.onpointermove = (event) => {
    if (!dragFrom) return;
    yaw += (event.clientX - dragFrom[0]) * 0.01;
    pitch = Math.max(-1.5, Math.min(1.5, pitch + (event.clientY - dragFrom[1]) * 0.01));
    dragFrom = [event.clientX, event.clientY];
    if (!queued) { queued = true; requestAnimationFrame(draw); }
  };
  draw();
}
