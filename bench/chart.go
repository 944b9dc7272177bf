package main

import (
	"bytes"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is a row of panels with one legend.
type chart struct {
	name   string // of the file
	title  string
	panels []panel
	bars   bool
	apart  bool // the panels can't be compared, so their y axes differ
}

// panel is lines over an axis, or groups of bars.
type panel struct {
	title  string
	xLabel string
	yLabel string
	ticks  []float64 // of a logarithmic x axis
	groups []string  // of bars
	linear bool      // the y axis; else logarithmic
	lines  []line
}

// line is a peer's: with the values of the ticks, or of the groups of bars.
type line struct {
	name string
	look look
	xs   []float64
	ys   []float64 // NaN: not measured
}

// look tells lines apart, also in print: the colors are those of Okabe and Ito.
type look struct {
	color  color.RGBA
	dashed bool
	thick  bool
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

var looks = map[peer]look{
	plain:            {color: rgb(0x444444)},
	noDetection:      {color: rgb(0x999999), dashed: true},
	handWritten:      {color: rgb(0xE69F00)},
	counterMySQL:     {color: rgb(0x0072B2), thick: true},
	redisAlways:      {color: rgb(0xD55E00)},
	redisEverySecond: {color: rgb(0xCC79A7), dashed: true},
	noCounter:        {color: rgb(0x009E73), dashed: true},
	rolledUp:         {color: rgb(0x56B4E9)},
	looking:          {color: rgb(0xE69F00), dashed: true},
	addedByHand:      {color: rgb(0xE69F00), dashed: true},
	unwaiting:        {color: rgb(0xE69F00), dashed: true},
	noIndex:          {color: rgb(0x999999)},
	rowsCounted:      {color: rgb(0x009E73)},
	rowsMarked:       {color: rgb(0x009E73), dashed: true},
	tablesExchanged:  {color: rgb(0x7A5195)},
	slotsBeforehand:  {color: rgb(0xE69F00), dashed: true},
	bufferInMemory:   {color: rgb(0xB5A400)},
	reserving:        {color: rgb(0x009E73), dashed: true},
	withHistory:      {color: rgb(0x0072B2), dashed: true},
	withBuffer:       {color: rgb(0x56B4E9)},
	historyByHand:    {color: rgb(0x444444), dashed: true},
	byTrigger:        {color: rgb(0x444444)},
	derived:          {color: rgb(0x56B4E9), dashed: true},
}

const (
	panelWidth  = 3.6 * vg.Inch
	panelHeight = 3.1 * vg.Inch
	legendWidth = 2.1 * vg.Inch
	titleHeight = 0.4 * vg.Inch
	margin      = 0.1 * vg.Inch
)

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

func fontOf(size vg.Length, bold bool) font.Font {
	f := sans
	if bold {
		f.Weight = 2 // golang.org/x/image/font.WeightBold
	}
	f.Size = size
	return f
}

// svg draws it.
func (c chart) svg() ([]byte, error) {
	width := panelWidth*vg.Length(len(c.panels)) + legendWidth + 2*margin
	height := panelHeight + titleHeight + 2*margin
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())

	title := text.Style{Font: fontOf(13, true), Color: color.Black, Handler: plot.DefaultTextHandler}
	all.FillText(title, vg.Point{X: margin, Y: height - margin - 13}, c.title)

	low, high := rangeOfY(c.panels)
	var row []*plot.Plot
	for i, p := range c.panels {
		if c.apart {
			low, high = rangeOfY(c.panels[i : i+1])
		}
		one, err := p.plot(c.bars, low, high)
		if err != nil {
			return nil, err
		}
		row = append(row, one)
	}
	legend, err := c.legend()
	if err != nil {
		return nil, err
	}
	plots := draw.Crop(all, margin, -margin-legendWidth, margin, -margin-titleHeight)
	canvases := plot.Align([][]*plot.Plot{row}, draw.Tiles{Rows: 1, Cols: len(row), PadX: margin}, plots)
	for i, p := range row {
		p.Draw(canvases[0][i])
	}
	legend.Draw(draw.Crop(all, width-legendWidth, -margin, margin, -margin-titleHeight))

	var out bytes.Buffer
	_, err = canvas.WriteTo(&out)
	// The widths were computed for the first of them, which few have; the next have the same.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), err
}

// rangeOfY is the same for panels that are to be compared.
func rangeOfY(panels []panel) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for _, l := range p.lines {
			for _, y := range l.ys {
				if !math.IsNaN(y) && (y > 0 || p.linear) {
					low, high = min(low, y), max(high, y)
				}
			}
		}
	}
	switch {
	case panels[0].linear && high > 0:
		return 0, high * 1.12
	case panels[0].linear:
		return 0, 1
	case math.IsInf(low, 1):
		return 1, 10
	}
	return low / 1.3, high * 1.3
}

// log places values on a logarithmic axis. plot.LogScale does it too, but then
// plot makes room for the label of the y axis as if it stood at the top.
func log(v float64) float64 { return math.Log10(v) }

func (p panel) plot(bars bool, low, high float64) (*plot.Plot, error) {
	one := plot.New()
	one.Title.Text, one.X.Label.Text, one.Y.Label.Text = p.title, p.xLabel, p.yLabel
	one.Title.TextStyle.Font, one.Title.Padding = fontOf(11, true), vg.Points(4)
	one.X.Label.TextStyle.Font, one.Y.Label.TextStyle.Font = fontOf(10, false), fontOf(10, false)
	one.X.Tick.Label.Font, one.Y.Tick.Label.Font = fontOf(9, false), fontOf(9, false)
	one.BackgroundColor = color.White

	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color = rgb(0xDDDDDD)
	grid.Horizontal.Width = vg.Points(0.5)
	one.Add(grid)
	var err error
	if bars {
		err = p.addBars(one)
	} else {
		err = p.addLines(one)
	}
	if p.linear {
		one.Y.Min, one.Y.Max, one.Y.Tick.Marker = low, high, plot.TickerFunc(linearTicks)
	} else {
		one.Y.Min, one.Y.Max, one.Y.Tick.Marker = log(low), log(high), plot.ConstantTicks(logTicks(low, high))
	}
	return one, err
}

func (p panel) addLines(one *plot.Plot) error {
	for _, l := range p.lines {
		lines, points, err := l.plotters()
		if err != nil {
			return err
		}
		if lines != nil {
			one.Add(lines, points)
		}
	}
	var ticks []plot.Tick
	for _, x := range p.ticks {
		ticks = append(ticks, plot.Tick{Value: log(x), Label: short(x)})
	}
	one.X.Tick.Marker = plot.ConstantTicks(ticks)
	one.X.Min, one.X.Max = log(p.ticks[0]/1.15), log(p.ticks[len(p.ticks)-1]*1.15)
	return nil
}

func (l line) plotters() (*plotter.Line, *plotter.Scatter, error) {
	var xys plotter.XYs
	for i, x := range l.xs {
		if !math.IsNaN(l.ys[i]) && l.ys[i] > 0 {
			xys = append(xys, plotter.XY{X: log(x), Y: log(l.ys[i])})
		}
	}
	if len(xys) == 0 {
		return nil, nil, nil
	}
	lines, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return nil, nil, err
	}
	lines.Color, lines.Width = l.look.color, vg.Points(1.4)
	if l.look.thick {
		lines.Width = vg.Points(2.6)
	}
	if l.look.dashed {
		lines.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	points.Color, points.Shape, points.Radius = l.look.color, draw.CircleGlyph{}, lines.Width*1.3
	return lines, points, nil
}

// addBars groups the bars of all lines, with their values on top.
func (p panel) addBars(one *plot.Plot) error {
	// Of a group's share of the width a bit is left empty.
	width := panelWidth * 0.8 / vg.Length(len(p.groups)) * 0.85 / vg.Length(len(p.lines))
	for i, l := range p.lines {
		offset := width * (vg.Length(i) - vg.Length(len(p.lines)-1)/2)
		values := make(plotter.Values, len(l.ys))
		labels := plotter.XYLabels{}
		for j, y := range l.ys {
			if math.IsNaN(y) {
				continue // a bar of no height, without a value
			}
			values[j] = y
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(j), Y: y})
			labels.Labels = append(labels.Labels, brief(y))
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.Offset, bars.LineStyle.Width = l.look.color, offset, 0
		tops, err := plotter.NewLabels(labels)
		if err != nil {
			return err
		}
		for j := range tops.TextStyle {
			tops.TextStyle[j].Font = fontOf(8, false)
			tops.TextStyle[j].XAlign = draw.XCenter
		}
		tops.Offset = vg.Point{X: offset, Y: vg.Points(2)}
		one.Add(bars, tops)
	}
	one.NominalX(p.groups...)
	one.X.Min, one.X.Max = -0.5, float64(len(p.groups))-0.5
	return nil
}

// legend names every line once.
func (c chart) legend() (plot.Legend, error) {
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(3)
	legend.TextStyle.Font, legend.ThumbnailWidth = fontOf(10, false), vg.Points(18)
	seen := map[string]bool{}
	for _, p := range c.panels {
		for _, l := range p.lines {
			if seen[l.name] {
				continue
			}
			seen[l.name] = true
			if c.bars {
				bar, err := plotter.NewBarChart(plotter.Values{1}, 1)
				if err != nil {
					return legend, err
				}
				bar.Color, bar.LineStyle.Width = l.look.color, 0
				legend.Add(" "+l.name, bar)
				continue
			}
			l.xs, l.ys = []float64{1}, []float64{1}
			lines, points, err := l.plotters()
			if err != nil {
				return legend, err
			}
			legend.Add(" "+l.name, lines, points)
		}
	}
	return legend, nil
}

// logTicks are 1, 2 and 5 of each power of ten, or as many more or fewer as
// there is room for.
func logTicks(low, high float64) (ticks []plot.Tick) {
	digits := []float64{1, 2, 5}
	switch span := high / low; {
	case span > 2000:
		digits = []float64{1}
	case span < 10:
		digits = []float64{1, 1.5, 2, 3, 4, 5, 7}
	}
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for _, digit := range digits {
			v := digit * math.Pow(10, power)
			if v < low || v > high {
				continue
			}
			ticks = append(ticks, plot.Tick{Value: log(v), Label: short(v)})
		}
	}
	return ticks
}

func linearTicks(low, high float64) (ticks []plot.Tick) {
	for _, t := range (plot.DefaultTicks{}).Ticks(low, high) {
		if !t.IsMinor() {
			t.Label = short(t.Value)
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// short writes 25000 as 25k.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case v >= 1e3:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// brief fits on top of a bar. What is not 0 does not look so.
func brief(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.01:
		return "<.01"
	}
	digits := max(0, 2-max(0, int(math.Floor(math.Log10(v)))))
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
