package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

// pollInterval is how often Wait evaluates its expression.
const pollInterval = 10 * time.Millisecond

// Page is a tab.
type Page struct {
	ctx   context.Context
	close context.CancelFunc

	mu       sync.Mutex
	problems []string
	urls     []string
}

// NewPage opens a tab with a width and a height in pixels.
func (b *Browser) NewPage(width, height int64) (*Page, error) {
	p := &Page{}
	// The listener also sees the events of the start.
	p.ctx, p.close = chromedp.NewContext(b.ctx, chromedp.WithListener(p.record))
	return p, p.Do(chromedp.EmulateViewport(width, height))
}

// record keeps errors of scripts, violations of the Content-Security-Policy, and the URLs of all requests.
func (p *Page) record(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		// A refused request is an entry of the network, and no problem of the page.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			p.problems = append(p.problems, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		p.urls = append(p.urls, e.Request.URL)
	}
}

// Problems returns errors of scripts, and violations of the Content-Security-Policy.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.problems)
}

// URLs returns the URLs of all requests.
func (p *Page) URLs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.urls)
}

// Close closes the tab.
func (p *Page) Close() { p.close() }

// Do runs actions.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) error {
	return chromedp.Do(p.ctx, actions...)
}

// Open opens a URL.
func (p *Page) Open(url string) error { return p.Do(chromedp.Navigate(url)) }

// AcceptCertificates lets the page open servers whose certificates are of no known authority.
func (p *Page) AcceptCertificates() error {
	_, err := chromedp.Call(p.ctx, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
	return err
}

// Reload loads the page again.
func (p *Page) Reload() error { return p.Do(chromedp.Reload()) }

// Resize changes the width and the height, in pixels.
func (p *Page) Resize(width, height int64) error {
	return p.Do(chromedp.EmulateViewport(width, height))
}

// Click clicks the first element of a selector, when it is visible.
func (p *Page) Click(selector string) error { return p.Do(chromedp.Click(chromedp.CSS(selector))) }

// Press presses keys.
func (p *Page) Press(keys string) error { return p.Do(chromedp.KeyEvent(keys)) }

// PressCharacter presses the key of a character in one event, as a keyboard does: a script that handles the event keeps the
// character from being typed.
func (p *Page) PressCharacter(character string) error {
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: character, Text: character}); err != nil {
			return err
		}
	}
	return nil
}

// ColorScheme makes the system prefer a scheme: light or dark.
func (p *Page) ColorScheme(scheme string) error {
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	return err
}

// Text returns the value of an expression of JavaScript that is a text.
func (p *Page) Text(expression string) (string, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[string](expression))
}

// Number returns the value of an expression that is a number.
func (p *Page) Number(expression string) (float64, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[float64](expression))
}

// Holds reports whether an expression is true.
func (p *Page) Holds(expression string) (bool, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		holds, err := p.Holds(expression)
		switch {
		case err != nil:
			return fmt.Errorf("evaluate %s: %w", expression, err)
		case holds:
			return nil
		case time.Now().After(deadline):
			text, err := p.Text("document.body.innerText")
			return errors.Join(fmt.Errorf("within %s, this has not become true: %s; the page shows:\n%s", patience, expression, text), err)
		}
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-ticker.C:
		}
	}
}

// Screenshot returns a PNG of what is visible.
func (p *Page) Screenshot() ([]byte, error) { return chromedp.Run(p.ctx, chromedp.CaptureScreenshot()) }

// Memory returns the bytes of the heap of the page's scripts, after a collection.
func (p *Page) Memory() (float64, error) {
	if _, err := chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		return 0, err
	}
	if _, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		return 0, err
	}
	found, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	for _, m := range found.Metrics {
		if m.Name == "JSHeapUsedSize" {
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("the browser reports no JSHeapUsedSize")
}
