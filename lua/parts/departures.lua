-- departures.lua: the jobs that an exchange takes out of their lanes.
--
--   after lanes.lua

-- `name`: of the lane; `delay`: of a released job, which stays in if it is ready at once.
local function leave_lane(turn, queue, name, delay)
  if delay and due_at(turn.moment, delay) <= turn.moment then return end
  queue.left = note_left(queue.left, name)
  turn.any_left = true
end

-- Lets in others for those that have left.
local function fill(turn, queue)
  if let_in(turn.lanes, turn.held, queue.ready, queue.left) > 0 then queue.filled = true end
end
